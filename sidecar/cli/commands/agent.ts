/** `portcullis agent`: keeps tokens fresh in files, for applications that only read a file. */
import type { Command } from 'commander'
import { EXIT, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'

interface AgentOptions {
  readonly config?: string
  readonly once?: boolean
  readonly exitWithoutToken?: boolean
  readonly json?: boolean
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

export function addAgentCommand(program: Command): void {
  const command = program
    .command('agent')
    .description('Keep tokens fresh in files until it is stopped.')
    .option('--config <file>', 'configuration of the agent, YAML or JSON')
    .option('--once', 'write every file once, and end')
    .option('--exit-without-token', 'end as soon as a file has no valid token, instead of trying again')
    .option('--json', 'print errors as one line of JSON')
  addHelpParts(command, {
    examples: ['agent --config agent.yaml', 'agent --config agent.yaml --once'],
    exitCodes:
      '0 stopped by a signal, or every file was written with --once; 2 a file was not, or has no valid token with --exit-without-token, or the configuration is invalid',
    notes: [
      'SIGHUP reads the configuration again. SIGTERM and SIGINT end the agent; the files stay. The log is JSON, on standard error.',
    ],
  }).action(runAgent)
}

async function runAgent({ config: path, once, exitWithoutToken }: AgentOptions): Promise<void> {
  if (path === undefined) throw usageError('expected --config')
  if (once && exitWithoutToken) throw usageError('expected one of --once and --exit-without-token')
  const [
    { Agent },
    { SidecarTokens },
    { readAgentConfig },
    { checkedAddress, readTokenLine },
    { tlsOfAgent },
    { newLog },
  ] = await Promise.all([
    import('../agent/agent.ts'),
    import('../agent/token-source.ts'),
    import('../../config/agent-config.ts'),
    import('../sidecar-connection.ts'),
    import('../tls.ts'),
    import('../../signals/log/log.ts'),
  ])
  const log = newLog({ level: readAgentConfig(path).logLevel, format: 'auto' })
  const told = new Set<string>()
  const tellOnce = (file: string, problem: string) => {
    if (told.has(file)) return
    told.add(file)
    log.warn({ file, problem }, 'other users of this machine can access a secret of the agent')
  }
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>()
  const agent = new Agent({
    readConfig: () => readAgentConfig(path),
    openSource: (config) =>
      new SidecarTokens(
        checkedAddress(config.address),
        config,
        (file) => readTokenLine('sidecar.caller_token_file', file),
        () => tlsOfAgent(config, tellOnce),
      ),
    log,
    onWithoutToken: (file) => {
      if (!exitWithoutToken) return
      log.error({ file }, 'the file has no valid token; the agent ends, as --exit-without-token says')
      stop(EXIT.noAnswer)
    },
  })
  if (once) {
    const missing = await agent.once()
    if (missing.length > 0) process.exitCode = EXIT.noAnswer
    return
  }
  for (const signal of STOP_SIGNALS) process.once(signal, () => stop(EXIT.done))
  process.on('SIGHUP', () => agent.reload())
  agent.start()
  const code = await stopped
  await agent.close()
  process.exit(code)
}
