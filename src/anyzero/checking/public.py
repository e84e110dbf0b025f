"""Every name of check mode that a user may write behind `anyzero.`, once."""

from anyzero.checking.session import CheckError as CheckError
from anyzero.checking.session import check as check
