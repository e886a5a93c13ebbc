/** The TypeScript client presents tokens of options with each call, or those of a file that may change. */
import { writeFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Presented } from '../../clients/typescript/presented.ts'
import { connect } from '../support/sidecar/client.ts'
import { newFile, whenTheFileEnds } from '../support/suite/resources.ts'

afterEach(() => void vi.useRealTimers())

const presentedBy = (presented: Presented) => presented.metadata.getMap()

test('the tokens of the options', () => {
  expect(presentedBy(new Presented({ callerToken: '\ufeffcaller\n', iamToken: 'iam\r\n' }))).toEqual({
    authorization: 'Bearer caller',
    'x-auth-token': 'iam',
  })
  expect(new Presented({}).isEmpty).toBe(true)
})

describe('the token of a file', () => {
  test('is that of its text, and a new one is seen after a while', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const file = newFile('\ufefffirst\r\n')
    const presented = new Presented({ callerTokenFile: file, iamToken: 'iam' })
    const earlier = presented.metadata
    writeFileSync(file, 'second')
    vi.advanceTimersByTime(9_000)
    expect(presentedBy(presented)).toMatchObject({ authorization: 'Bearer first' })
    vi.advanceTimersByTime(2_000)
    expect(presentedBy(presented)).toEqual({ authorization: 'Bearer second', 'x-auth-token': 'iam' })
    expect(earlier.getMap()).toMatchObject({ authorization: 'Bearer first' })
  })

  test('stays while the file is unusable', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const file = newFile('first')
    const presented = new Presented({ callerTokenFile: file })
    for (const content of ['', 'with a blank']) {
      writeFileSync(file, content)
      vi.advanceTimersByTime(11_000)
      expect(presentedBy(presented)).toEqual({ authorization: 'Bearer first' })
    }
  })
})

test.each([
  ['callerToken: expected visible ASCII characters', { callerToken: 'canary canary' }],
  ['iamToken: expected visible ASCII characters', { iamToken: '' }],
  ['callerTokenFile: expected visible ASCII characters', { callerTokenFile: newFile('canary canary') }],
  [
    'callerTokenFile: expected visible ASCII characters',
    { callerTokenFile: newFile(Buffer.from('canary', 'utf16le').toString('latin1')) },
  ],
  ['callerTokenFile: expected a file that can be read (ENOENT)', { callerTokenFile: '/canary' }],
  ['callerTokenFile: expected either', { callerToken: 'canary', callerTokenFile: '/canary' }],
])('%s', (message, options) => {
  const connecting = () => connect('127.0.0.1:1', options)
  expect(connecting).toThrow(TypeError)
  expect(connecting).toThrow(message)
  expect(connecting).not.toThrow('canary')
})

test('without an address the client asks where the variable says', async () => {
  vi.stubEnv('PORTCULLIS_GRPC_ADDRESS', 'sidecar.example:1')
  whenTheFileEnds(() => vi.unstubAllEnvs())
  expect(() => connect(undefined, { callerToken: 'caller' })).toThrow('the sidecar at sidecar.example:1')
})
