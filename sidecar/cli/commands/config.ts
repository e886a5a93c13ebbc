/**
 * `portcullis config`: what is configured and where it is from, and whether a sidecar would start with it.
 */
import type { Command } from 'commander'
import { addHelpParts } from '../terminal/help.ts'
import type { ConfigOptions } from './config-check.ts'
import { addSidecarOptions } from './serve.ts'

export function addConfigCommand(program: Command): void {
  const config = addHelpParts(
    program.command('config').description('Show and check the configuration, with the options of `serve`.'),
    { examples: ['config show --config portcullis.yaml', 'config validate --config portcullis.yaml'] },
  )
  const show = addSidecarOptions(config.command('show'))
    .description('Show the value of every key and where it comes from. Never shows a secret.')
    .option('--set', 'leave out the keys that have their default')
    .option('--json', 'print the values, or the error, as one line of JSON')
  addHelpParts(show, {
    examples: ['config show --config portcullis.yaml', 'config show --set --json'],
  }).action(async (options: ConfigOptions) => (await import('./config-check.ts')).showConfig(options))
  const validate = addSidecarOptions(config.command('validate'))
    .description(
      'Check everything that `serve` checks before it opens anything: keys, files, certificates, matrix, routes.',
    )
    .option('--json', 'print the problems, or the error, as one line of JSON')
  addHelpParts(validate, {
    examples: ['config validate --config portcullis.yaml', 'config validate --strict --json'],
    exitCodes: '0 valid, 1 problems, 2 no answer',
    notes: ['It opens no listener and no directory; `portcullis doctor` looks at those.'],
  }).action(async (options: ConfigOptions) => (await import('./config-check.ts')).validateConfig(options))
}
