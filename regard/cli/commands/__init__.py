"""Every command as it can be typed: its words, options and help. No torch here; what it does is in `cli/bodies`."""

from regard.cli.command import Command
from regard.cli.commands.about import CompletionCommand, CorporaCommand
from regard.cli.commands.align import AlignCommand
from regard.cli.commands.backtranslate import BacktranslateCommand
from regard.cli.commands.card import CardCommand
from regard.cli.commands.decoding import ScoreCommand, TranslateCommand, WriteCommand
from regard.cli.commands.doctor import DoctorCommand
from regard.cli.commands.export import ExportCommand
from regard.cli.commands.find import FindCommand
from regard.cli.commands.heads import HeadsCommand
from regard.cli.commands.hub import ImportCommand
from regard.cli.commands.init import InitCommand
from regard.cli.commands.lab import LabCommand
from regard.cli.commands.labelling import CaptionCommand, ClassifyCommand, EmbedCommand, TagCommand
from regard.cli.commands.look import LookCommand
from regard.cli.commands.publish import PublishCommand
from regard.cli.commands.serve import ServeCommand
from regard.cli.commands.training import CompareCommand, DemoCommand, DistillCommand, EvaluateCommand, TrainCommand

IN_ORDER: tuple[type[Command], ...] = (
    InitCommand,
    TrainCommand,
    DistillCommand,
    BacktranslateCommand,
    EvaluateCommand,
    CompareCommand,
    ImportCommand,
    CorporaCommand,
    DemoCommand,
    WriteCommand,
    TranslateCommand,
    ScoreCommand,
    CaptionCommand,
    ClassifyCommand,
    TagCommand,
    EmbedCommand,
    AlignCommand,
    HeadsCommand,
    FindCommand,
    LookCommand,
    PublishCommand,
    ServeCommand,
    ExportCommand,
    CardCommand,
    LabCommand,
    DoctorCommand,
    CompletionCommand,
)
COMMANDS = {kind.called(): kind for kind in IN_ORDER}
