/**
 * An address in use: the error names the setting for choosing another one. Two sidecars are in
 * test/process/shutdown.test.ts.
 */
import { expect, test } from 'vitest'
import { addressInUse, takenAddressOf } from '../../sidecar/base/address.ts'
import { type AddressSources, withRemedy } from '../../sidecar/cli/commands/taken-address.ts'
import { newFile } from '../support/suite/resources.ts'

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
