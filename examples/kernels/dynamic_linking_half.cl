float shape(float x) { return x / 2; }
