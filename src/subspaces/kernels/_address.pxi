# Address of the numbers of an array. Typed memoryviews know it too, but each module that uses them
# takes six times as long to compile.

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBuffer_Release, PyObject_GetBuffer


cdef void* address(array) except? NULL:
    """The first number of a C-contiguous array, which the caller keeps alive."""
    cdef Py_buffer view
    cdef void* first
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS)
    first = view.buf
    PyBuffer_Release(&view)
    return first
