// All pairs: the accelerations that bodies (x, y, z, mass) give one another, softened so that a body does not disturb itself.
// Optimisers that look for short vectors find them in the three coordinates, which is a trap for whoever widens over items.

kernel void nbody_f32(global float4 *acceleration, global const float4 *bodies, int n, float softening) {
    size_t i = get_global_id(0);
    float4 own = bodies[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int j = 0; j < n; j++) {
        float4 other = bodies[j];
        float dx = other.x - own.x;
        float dy = other.y - own.y;
        float dz = other.z - own.z;
        float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
        float pull = other.w * inverse * inverse * inverse;
        x += dx * pull;
        y += dy * pull;
        z += dz * pull;
    }
    acceleration[i] = (float4)(x, y, z, 0.0f);
}

kernel void nbody_f64(global double4 *acceleration, global const double4 *bodies, int n, double softening) {
    size_t i = get_global_id(0);
    double4 own = bodies[i];
    double x = 0.0, y = 0.0, z = 0.0;
    for (int j = 0; j < n; j++) {
        double4 other = bodies[j];
        double dx = other.x - own.x;
        double dy = other.y - own.y;
        double dz = other.z - own.z;
        double inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
        double pull = other.w * inverse * inverse * inverse;
        x += dx * pull;
        y += dy * pull;
        z += dz * pull;
    }
    acceleration[i] = (double4)(x, y, z, 0.0);
}
