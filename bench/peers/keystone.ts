/** A real Keystone from the Python package index, on SQLite, served by one process of uWSGI. */
import { installKeystone, prepareKeystone } from '../../test/support/identity/keystone.ts'
import { ForeignServer, freeAddress } from '../harness/foreign.ts'

export { installKeystone }

export const KEYSTONE_CONFIGURED =
  'Keystone: Fernet tokens; SQLite with a write-ahead log; caching on, as its documentation recommends, but in memory, which is faster than memcached; uWSGI with one process, without request logs.'

export interface Keystone {
  readonly server: ForeignServer
  /** `{auth_url}/identity`. */
  readonly identityUrl: string
  readonly login: { readonly account: string; readonly user: string; readonly password: string }
  readonly project: string
}

/**
 * @param programs what `installKeystone` returned
 * @param folder for its database, keys and configuration
 */
export async function startKeystone(programs: string, folder: string): Promise<Keystone> {
  const address = await freeAddress()
  const identityUrl = `http://${address}/identity`
  const { command, args, env, password } = await prepareKeystone(programs, folder, address, {
    expiration: 86_400,
    caching: true,
  })
  const server = await ForeignServer.start({
    command,
    args,
    env,
    ready: async () => (await fetch(`${identityUrl}/v3`)).ok,
  })
  const login = { account: 'Default', user: 'admin', password }
  return { server, identityUrl, login, project: 'admin' }
}
