"""OpenCL.std as code for vectors of any length: each instruction a pure function of LLVM, lane by lane, that calls
nothing outside the module.
"""
