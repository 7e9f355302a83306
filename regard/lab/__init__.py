"""The lab: every claim of the notes as one command that trains, measures, draws and says whether it held."""
