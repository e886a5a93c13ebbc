/**
 * `portcullis doctor`: looks at everything that a sidecar needs, whether or not one runs, and says how to fix
 * what is wrong.
 */
import type { Command } from 'commander'
import type { DoctorOptions } from '../doctor/examine.ts'
import { addHelpParts } from '../terminal/help.ts'
import { addSidecarOptions } from './serve.ts'

export function addDoctorCommand(program: Command): void {
  const command = addSidecarOptions(
    program
      .command('doctor')
      .description(
        'Check variables, permissions, clock, keys, pepper, directory, matrix, certificates and connections. Say how to fix each problem.',
      ),
  ).option('--json', 'print the findings, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['doctor --config portcullis.yaml', 'doctor --data ./portcullis-data --json'],
    exitCodes: '0 no problem, or only warnings, 1 errors, 2 no answer',
    notes: [
      'Use the options of `serve`, and run it as the user of the sidecar. It changes nothing, and shows no secret.',
    ],
  }).action(async (options: DoctorOptions) => (await import('../doctor/examine.ts')).doctor(options))
}
