// One step of the sorting network; the host launches it for every distance of every stage.

kernel void bitonic_step(global uint *data, uint distance, uint stage) {
    uint i = get_global_id(0);
    uint partner = i ^ distance;
    if (partner <= i)
        return;
    uint low = data[i];
    uint high = data[partner];
    bool ascending = (i & stage) == 0;
    if ((low > high) == ascending) {
        data[i] = high;
        data[partner] = low;
    }
}
