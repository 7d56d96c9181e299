"""C and C++ as a stack: what a tree's build files, CI files and headers ask for, read as data."""
