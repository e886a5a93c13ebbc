/** The questions of a proxy at `/authorize` about the requests of its clients. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '../../engine/index.ts'
import { http1Request } from '../harness/http1.ts'
import type { SidecarReady } from '../servers/start.ts'
import { obtainTokens } from './checks.ts'
import { cellQuestions } from './questions.ts'

const SECRET = 'a-secret-of-the-proxy-and-the-sidecar'

/**
 * Beside the credential: what nginx passes on of a request of a program, and adds, as `examples/nginx` has
 * it.
 */
const HEADERS: Readonly<Record<string, string>> = {
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'openstacksdk/4.7.1 keystoneauth1/5.11.1 python-requests/2.32.5 CPython/3.13.7',
  'x-original-method': 'GET',
  'x-original-uri': '/v1/items?limit=100',
  'x-forwarded-host': 'api.example.com',
  'x-forwarded-for': '203.0.113.7',
  'x-portcullis-proxy-secret': SECRET,
}

/** A configuration with a proxy on this machine. @returns its path */
export function authorizeConfigurationIn(folder: string): string {
  const config = join(folder, 'portcullis.json')
  const proxy_secret_file = join(folder, 'proxy.secret')
  writeFileSync(proxy_secret_file, SECRET, { mode: 0o600 })
  const http = { authorize: true, trusted_proxies: ['127.0.0.1'], proxy_secret_file }
  writeFileSync(config, JSON.stringify({ http }))
  return config
}

/** A request for each cell: with a token of its kind, about its API. */
export async function authorizeRequests(engine: Engine, ready: SidecarReady): Promise<Buffer[]> {
  const tokens = await obtainTokens(engine, ready)
  return cellQuestions(engine).map(({ api, kind }) => {
    const { header = '' } = engine.tokenKinds.get(kind) ?? {}
    return http1Request('GET', `/authorize/${api}`, {
      ...HEADERS,
      host: ready.http,
      [header.toLowerCase()]: tokens.get(kind) ?? '',
    })
  })
}
