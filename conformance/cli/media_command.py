"""`chatproof media`: write the media files of the suite where a server can read them."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli import exit_codes
from conformance.errors import UsageError
from conformance.plan.media import TYPES, media_folder, read_media
from openapi.schema.quantity import format_quantity


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def media(folder: Path) -> None:
    """Write the images, videos and audio files of the suite to FOLDER, for `chatproof check --media-path`.

    The files have 100 KB. Files of the same names are replaced.
    """
    with exit_codes.report_errors():
        names = sorted(path.name for path in media_folder().iterdir() if path.suffix.removeprefix(".") in TYPES)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in names:
                (folder / name).write_bytes(read_media(name))
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
        click.echo(f"{format_quantity(len(names), 'file')} written to {folder}")
