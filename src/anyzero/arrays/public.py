"""Every name of the array layer that a user may write behind `anyzero.`, once."""

from anyzero.arrays.elementwise import Elementwise as Elementwise
from anyzero.arrays.elementwise import elementwise as elementwise
from anyzero.arrays.operators import where as where
from anyzero.arrays.random import RandomGenerator as RandomGenerator
from anyzero.arrays.random import random as random
from anyzero.arrays.reduction import Reduction as Reduction
from anyzero.arrays.reduction import reduction as reduction
from anyzero.arrays.scan import scan as scan
from anyzero.arrays.sort import argsort as argsort
from anyzero.arrays.sort import sort as sort
from anyzero.arrays.view import View as View
