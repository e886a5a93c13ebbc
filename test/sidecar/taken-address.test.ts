/** An address in use: the error names the setting for choosing another one. */
import { expect, test } from 'vitest'
import { addressInUse, takenAddressOf } from '../../sidecar/base/address.ts'
import { type AddressSources, withRemedy } from '../../sidecar/cli/commands/taken-address.ts'
import { run, serve } from '../support/processes/processes.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const file = newFile('grpc: { address: "127.0.0.1:1" }\nworkers: 1\n', 'config.yaml')
const other = newFile('workers: 1\n', 'config.yaml')
const GRPC = { PORTCULLIS_GRPC_ADDRESS: '127.0.0.1:1' }

test.each<
  [claim: string, listener: 'grpc' | 'http', sources: AddressSources, environment: object, place: string]
>([
  ['the default of gRPC', 'grpc', {}, {}, 'with --grpc HOST:PORT (or unix:PATH)'],
  ['the default of HTTP', 'http', {}, {}, 'with --http HOST:PORT (or off)'],
  ['a flag', 'grpc', { grpc: '127.0.0.1:1' }, GRPC, 'with --grpc HOST:PORT (or unix:PATH)'],
  [
    'a flag before a file',
    'grpc',
    { grpc: '127.0.0.1:1', config: file },
    {},
    'with --grpc HOST:PORT (or unix:PATH)',
  ],
  ['a variable', 'grpc', {}, GRPC, 'in PORTCULLIS_GRPC_ADDRESS'],
  ['a variable before a file', 'grpc', { config: file }, GRPC, 'in PORTCULLIS_GRPC_ADDRESS'],
  [
    'a variable of HTTP',
    'http',
    {},
    { PORTCULLIS_HTTP_ADDRESS: '127.0.0.1:1' },
    'in PORTCULLIS_HTTP_ADDRESS',
  ],
  ['a file', 'grpc', { config: file }, {}, `in \`grpc.address\` of ${file}`],
  ['a file that names the other one', 'http', { config: file }, {}, 'with --http HOST:PORT (or off)'],
  ['a file that names none', 'grpc', { config: other }, {}, 'with --grpc HOST:PORT (or unix:PATH)'],
])('chosen by %s', (_claim, listener, sources, environment, place) => {
  const error = addressInUse({ listener, address: '127.0.0.1:1' })
  expect(withRemedy(error, sources, environment as Record<string, string>)).toMatchObject({
    reason: 'ADDRESS_IN_USE',
    message: `${listener} address 127.0.0.1:1 is in use; choose another ${place}`,
  })
})

test('any other error stays as it is', () => {
  const error = new Error('the disk is full')
  expect(withRemedy(error, {}, {})).toBe(error)
})

test.each(['127.0.0.1:1', '[::1]:1', 'unix:/with blanks/in it.sock'])(
  'the address %s can be read from the message',
  (address) => {
    expect(takenAddressOf(new Error(addressInUse({ listener: 'grpc', address }).message))).toEqual({
      listener: 'grpc',
      address,
    })
  },
)

test('a sidecar on an address in use ends with exit code 2, and with --json the error is JSON', async () => {
  const first = await serve(['--data', newFolder(), '--http', '127.0.0.1:0'])
  const { grpc, http } = first.ready
  const second = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['serve', '--json', '--data', newFolder(), ...args], {
      environment: { PORTCULLIS_LOG_LEVEL: 'silent' },
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    return JSON.parse(stderr).error
  }
  const taken = { code: 'FAILED_PRECONDITION', reason: 'ADDRESS_IN_USE', violations: [] }
  expect(await second('--grpc', grpc, '--http', 'off')).toEqual({
    ...taken,
    message: `grpc address ${grpc} is in use; choose another with --grpc HOST:PORT (or unix:PATH)`,
  })
  expect(await second('--grpc', '127.0.0.1:0', '--http', http)).toEqual({
    ...taken,
    message: `http address ${http} is in use; choose another with --http HOST:PORT (or off)`,
  })
})
