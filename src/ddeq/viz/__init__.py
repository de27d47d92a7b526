"""Pictures and animations.

``drawing`` has the palette and draws a cloud, ``pictures`` and ``posters`` arrange clouds,
``diagrams`` has axes, ``from_model`` computes what they show, ``gliding`` makes a few large steps a
flow, ``animation`` writes GIF and HTML, ``turning`` a GIF of clouds that turn, ``films`` whichever
a file's name asks for.
"""
