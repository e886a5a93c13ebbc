/** The configuration of the agent: what is accepted, and what an error says. */
import { describe, expect, test } from 'vitest'
import { readAgentConfig } from '../../sidecar/config/agent-config.ts'
import { newFile } from '../support/suite/resources.ts'

const read = (document: unknown) =>
  readAgentConfig(newFile(typeof document === 'string' ? document : JSON.stringify(document), 'agent.yaml'))

const TOKEN = { profile: 'nightly', apis: ['cdn'], project: 'web', file: '/run/app/token' }

test('an omitted key has its default', () => {
  expect(read({ tokens: [TOKEN] })).toEqual({
    address: undefined,
    callerTokenFile: undefined,
    deadlineMs: 10_000,
    checkIntervalMs: 30_000,
    logLevel: 'info',
    tokens: [
      {
        profile: 'nightly',
        purpose: { apis: ['cdn'], project: 'web' },
        file: '/run/app/token',
        format: 'value',
        mode: 0o600,
        owner: undefined,
        group: undefined,
        command: undefined,
        commandTimeoutMs: 10_000,
        signal: undefined,
        onExpiry: 'keep',
      },
    ],
  })
})

test('every key is read', () => {
  const { tokens, ...rest } = read({
    sidecar: {
      address: 'unix:/run/portcullis/grpc.sock',
      caller_token_file: '/etc/caller',
      deadline_ms: 1000,
    },
    check_interval_ms: 0,
    log_level: 'warn',
    tokens: [
      {
        profile: 'nightly',
        scope: { account: '123456', project: 'web' },
        place: 'Authorization: Bearer',
        file: '/run/app/token',
        format: 'env',
        mode: '0640',
        owner: 'root',
        group: 0,
        command: ['systemctl', 'reload', 'app'],
        command_timeout_ms: 500,
        signal: { pid_file: '/run/app.pid', signal: 'SIGUSR1' },
        on_expiry: 'remove',
      },
    ],
  })
  expect(rest).toEqual({
    address: 'unix:/run/portcullis/grpc.sock',
    callerTokenFile: '/etc/caller',
    deadlineMs: 1000,
    checkIntervalMs: 0,
    logLevel: 'warn',
  })
  expect(tokens).toEqual([
    {
      profile: 'nightly',
      purpose: { scope: { account: '123456', project: 'web' } },
      place: 'Authorization: Bearer',
      file: '/run/app/token',
      format: 'env',
      mode: 0o640,
      owner: 'root',
      group: 0,
      command: ['systemctl', 'reload', 'app'],
      commandTimeoutMs: 500,
      signal: { pidFile: '/run/app.pid', name: 'SIGUSR1' },
      onExpiry: 'remove',
    },
  ])
})

describe('is refused:', () => {
  test.each<[claim: string, document: unknown, problem: string]>([
    ['no tokens', {}, 'tokens: expected this field, it is missing'],
    ['an empty list', { tokens: [] }, 'tokens: expected '],
    ['a misspelled key', { tokens: [{ ...TOKEN, fromat: 'env' }] }, 'tokens[0].fromat: unknown field'],
    [
      'no file',
      { tokens: [{ ...TOKEN, file: undefined }] },
      'tokens[0].file: expected this field, it is missing',
    ],
    [
      'neither APIs nor a scope',
      { tokens: [{ profile: 'p', file: 'f' }] },
      'tokens[0]: expected either apis or scope',
    ],
    [
      'both',
      { tokens: [{ ...TOKEN, project: undefined, scope: { account: '1' } }] },
      'tokens[0]: expected either apis or scope',
    ],
    [
      'a project beside a scope',
      { tokens: [{ profile: 'p', file: 'f', project: 'x', scope: { account: '1' } }] },
      'tokens[0].project: expected it within scope',
    ],
    [
      'one file for two tokens',
      { tokens: [TOKEN, { ...TOKEN, file: '/run/../run/app/token' }] },
      'tokens[1].file: expected a file that no other token has',
    ],
    [
      'another format',
      { tokens: [{ ...TOKEN, format: 'xml' }] },
      'tokens[0].format: expected one of `value`, `header`, `json`, `exec-credential`, `env`',
    ],
    // YAML reads 0600 as a number, and another one than was meant.
    [
      'a mode that is a number',
      `tokens: [{ profile: p, apis: [cdn], file: f, mode: 0600 }]`,
      'tokens[0].mode: expected a string',
    ],
    ['an invalid mode', { tokens: [{ ...TOKEN, mode: '0888' }] }, 'tokens[0].mode: expected '],
    ['a mode with setuid', { tokens: [{ ...TOKEN, mode: '4755' }] }, 'tokens[0].mode: expected '],
    [
      'a command as one text',
      { tokens: [{ ...TOKEN, command: 'systemctl reload app' }] },
      'tokens[0].command: expected an array',
    ],
    [
      'an empty command',
      { tokens: [{ ...TOKEN, command: [''] }] },
      'tokens[0].command[0]: expected a program',
    ],
    [
      'SIGKILL',
      { tokens: [{ ...TOKEN, signal: { pid_file: 'p', signal: 'SIGKILL' } }] },
      'tokens[0].signal.signal: expected one of ',
    ],
    ['no YAML', '{', 'expected YAML or JSON'],
  ])('%s', (_claim, document, problem) => {
    expect(() => read(document)).toThrow(problem)
  })
})
