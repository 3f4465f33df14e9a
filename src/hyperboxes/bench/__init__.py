"""The paper, and every peer, measured again: cells, their protocol, a runner that can be killed, and tables.

A *cell* is one experiment: data set × class × model × hyper-parameters × seed. ``plan`` lists cells,
``protocol`` measures one, ``runner`` measures many, ``store`` keeps them, ``results`` takes means, ``render``
writes tables and pictures beside what was published, and ``reproduce`` does all of it.
"""
