/** The program without its commands. `serve` adds its own alone, because it never needs another one. */
import { Command } from 'commander'
import { packageVersion } from '../base/package.ts'
import { SCHEMA_VERSION } from '../directory/schema.ts'
import { title } from './terminal/help.ts'

export function emptyProgram(): Command {
  return (
    new Command('portcullis')
      .description(
        'Decide which credential opens which product API, and obtain the right credential for a call.',
      )
      // Builds of one version may write directories of several.
      .version(
        `${packageVersion} (directory ${SCHEMA_VERSION})`,
        '-V, --version',
        'print the version, and that of the directories it writes',
      )
      .option('--no-color', 'print no colours, as with NO_COLOR=1')
      .helpOption('-h, --help', 'print help')
      .configureHelp({ styleTitle: title })
      // Errors are printed where they are caught, as text or as JSON.
      .configureOutput({ outputError: () => {} })
      .exitOverride()
  )
}

/** A command with all that is below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}
