"""The numbers of the soft rasterizer: bodies that run on every target.

Arrays that belong together travel as tuples:

    mesh    points after which faces repeat, faces (faces, 3), hidden (triangles,) or empty, frame_start (frames + 1,)
    camera  rotation (frames or 1, 3, 3), eye (frames or 1, 3), focal (2,), centre (2,)
    shape   record (triangles, 16), box (triangles, 4), swapped (triangles,): see triangles.py
    lists   active tiles, start of each tile's entries, and of each entry its triangle and its tile
    view    tiles across, tiles down, columns, rows (x and y [px] of pixel centres from the middle)
    soft    1 / sigma [1/px^2], squared reach [px^2]
    fade    sharp, cut, far, far - near, gamma: see blend.py
    limit   limit_depth, limit_face (frames, height, width): see limits.py
    found   clear, nearest, front, hits (frames, height, width): see cover.py
    look    textured, corners, bilinear, index, values, image: see surface.py
    light   kind, points, normals, eye, ambient, kinds, lights, harmonics, shininess: see surface.py
    pictures  planes (frames, 4, height, width), depth and weight (frames, height, width): see blend.py

Pictures are padded to whole tiles. ``e`` is a run of neighbouring pixels of one row, one pixel on CUDA. Adjoints work
on stripes of a tile's columns, ``e`` counting TILE columns for each entry, and leave their sums in slots.
"""
