/**
 * A sidecar without upstreams, profiles and the contract over HTTP pays nothing for their code: it is not
 * loaded.
 */
import { testLoading } from '../support/processes/loaded.ts'
import { newFile } from '../support/suite/resources.ts'

const PARTS =
  /node_modules\/(undici|cockatiel|node-cache)\/|sidecar\/(?:authority\/(upstream)|transports\/(connect))\//
const PASSWORD = newFile('a password')
const job = { account: '1', user_name: 'x', password_file: PASSWORD }

testLoading(PARTS, [
  ['nothing of it', {}, []],
  ['HTTP', { http: { address: '127.0.0.1:0' } }, []],
  ['the contract over an HTTP that is off', { http: { address: 'off', connect: true } }, []],
  ['the contract over HTTP without calls', { http: { address: '127.0.0.1:0', connect: true } }, []],
  ['a profile of the directory', { profiles: { job } }, ['node-cache', 'upstream']],
  [
    'an upstream',
    {
      upstreams: { cloud: { auth_url: 'https://identity.example' } },
      profiles: { job: { ...job, upstream: 'cloud' } },
    },
    ['cockatiel', 'undici'],
  ],
])
