/**
 * Raw requests in all spellings to real servers behind the guards. Of paths: the handler that runs is that of
 * the route by which the guard has decided. Of headers: no request passes whose credential the sidecar
 * refuses. REQUESTS=1000 asks less.
 */
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import type { RouteSetting } from '../../sidecar/rules/routes/route.ts'
import { generator } from '../support/conformance/routes.ts'
import { cargo, cargoFolder } from '../support/interop/cargo.ts'
import { installed, repository, run } from '../support/interop/command.ts'
import { installFrameworks } from '../support/interop/frameworks.ts'
import { available, obtained } from '../support/interop/obtain.ts'
import { installedFromPython, makePythonStubs, pythonBuildTools } from '../support/interop/python-packages.ts'
import { bytesWith, headersIn, type RawHeaders, randomHeaders } from '../support/interop/routers/headers.ts'
import { serveExpress, serveFastify, serveHono } from '../support/interop/routers/node.ts'
import { type Served, startProgram } from '../support/interop/routers/programs.ts'
import { type RawAnswer, RawClient } from '../support/interop/routers/raw.ts'
import { bytesOf, HOSTS, randomRequest, TABLE } from '../support/interop/routers/requests.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { connect } from '../support/sidecar/client.ts'
import { populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const REQUESTS = Number(process.env.REQUESTS ?? 50_000)
const SEED = Number(process.env.SEED ?? 1)
const CONNECTIONS = 8
const programs = join(import.meta.dirname, 'routers')

/** A sidecar with a table, and the options of a program to ask it. */
async function serving(table: readonly RouteSetting[]) {
  const callerToken = 'follower-caller-token-0123456789abcdef'
  const apis = table.map(({ api }) => ({ id: api, title: api, accepts: ['static_token'], section: '§1' }))
  const matrix = { ...supportMatrix, apis, statements: [], conflicts: [] }
  const callers = [{ name: 'service', token_file: newFile(callerToken), rights: ['follow'] }]
  const config = {
    ...{ callers, routes: table, matrix: newFile(JSON.stringify(matrix), 'matrix.json') },
    http: httpBehindProxy({ authorize: true }),
  }
  const running = await runSidecar({
    config: newFile(JSON.stringify(config), 'config.json'),
    flags: { 'http.address': '127.0.0.1:0' },
  })
  const { staticToken } = await populate(running)
  /** Asks about each. */
  const asking = running.connect({ callerToken })
  const client = connect(running.address, { callerToken, local: true })
  whenTheFileEnds(() => client.close())
  const env = {
    ROUTERS_TABLE: JSON.stringify(table),
    ROUTERS_SIDECAR: running.address,
    ROUTERS_CALLER_TOKEN: callerToken,
  }
  return { table, client, staticToken, asking, http: running.sidecar.httpAddress ?? '', env }
}

const plain = await serving(TABLE)
const hosts = await serving([...TABLE, ...HOSTS])
/** Servlets have no names in their paths. */
const texts = await serving(TABLE.filter(({ path }) => !path.includes('{')))
type Serving = typeof plain

/** Asks a server about paths and about headers. */
function agrees(name: string, serving: Serving, serve: () => Promise<string>): void {
  let served: Promise<string> | undefined
  const url = () => {
    served ??= serve()
    return served
  }
  agreesOnHandlers(name, serving, url)
  agreesOnHeaders(name, serving, url)
}

/** The outcome of a request at a guard: a reason, that it has passed, or the server's own answer. */
const outcomeOf = ({ status, headers }: RawAnswer) =>
  headers.get('x-portcullis-reason') ?? (headers.has('x-handler') ? 'ALLOWED' : `status ${status}`)

/**
 * Compares what the guard decided about headers with what the sidecar says of them.
 *
 * @param allowed what the guard makes of a request that the sidecar allows
 */
function agreesOnHeaders(
  name: string,
  serving: Serving,
  serve: () => Promise<string>,
  allowed = 'ALLOWED',
): void {
  test(`${name} lets no credential pass that the sidecar refuses`, async () => {
    const { outcomes, passed } = await askAboutHeaders(serving, name, await serve(), (request) =>
      bytesWith(request, 'POST /billing/reports'),
    )
    expect(passed).toEqual({})
    expect(outcomes[`ALLOWED ${allowed}`]).toBeGreaterThan(REQUESTS / 500)
  })
}

/** @returns the count of each pair of the sidecar's answer and the server's outcome */
async function askAboutHeaders(
  { staticToken, asking }: Serving,
  name: string,
  url: string,
  bytesOf: (request: RawHeaders) => Buffer,
) {
  const random = generator(SEED)
  const outcomes: Record<string, number> = {}
  const passed: Record<string, string> = {}
  let left = REQUESTS / 10
  const ask = async () => {
    const client = new RawClient(url)
    while (left-- > 0) {
      const request = randomHeaders([staticToken, staticToken, 'another'], random)
      const headers = headersIn(request)
      const expected =
        headers === undefined
          ? 'NO_HEADERS'
          : (await asking.check({ api: 'reports', credentials: headers })).reason
      const found = outcomeOf(await client.ask(bytesOf(request)))
      const pair = `${expected} ${found}`
      outcomes[pair] = (outcomes[pair] ?? 0) + 1
      const isRefused = expected !== 'ALLOWED' && headers !== undefined
      if (found === 'ALLOWED' && isRefused) passed[pair] = JSON.stringify(request)
    }
    client.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, ask))
  process.stdout.write(`${name}: ${JSON.stringify(outcomes)}\n`)
  return { outcomes, passed }
}

test('the sidecar says the same of raw headers as of those that a call has', async () => {
  const described = [
    `X-Portcullis-Proxy-Secret: ${PROXY_SECRET}`,
    'X-Original-URI: /billing/reports',
    'X-Original-Method: GET',
    'X-Forwarded-Host: a.example',
    'X-Forwarded-For: 203.0.113.5',
  ]
  const url = `http://${plain.http}`
  const { outcomes } = await askAboutHeaders(plain, '/authorize', url, (request) =>
    bytesWith({ ...request, lines: [...described, ...request.lines] }, 'GET /authorize'),
  )
  const differing = Object.keys(outcomes).filter((pair) => !/^(\S+) (\1|status [24]00)$/.test(pair))
  expect(differing).toEqual([])
})

/** Compares what the guard found with the handler that has run. */
function agreesOnHandlers(name: string, { table, staticToken }: Serving, serve: () => Promise<string>): void {
  test(`${name} runs the handler that its guard has decided about`, async () => {
    const url = await serve()
    const random = generator(SEED)
    const pairs = new Map<string, string>()
    const counts = new Map<string, number>()
    let left = REQUESTS
    const ask = async () => {
      const client = new RawClient(url)
      while (left-- > 0) {
        const request = randomRequest(table, random)
        const { status, headers } = await client.ask(bytesOf(request, staticToken))
        const [handler, found] = [headers.get('x-handler'), headers.get('x-found')]
        const outcome =
          headers.get('x-portcullis-reason') ?? (handler === undefined ? `status ${status}` : 'served')
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
        if (handler !== found && pairs.size < 40)
          pairs.set(
            `${found} decided, ${handler} ran`,
            `${request.method} ${request.target} ${request.headers}`,
          )
      }
      client.close()
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, ask))
    const figures = [...counts].toSorted(([, one], [, other]) => other - one)
    process.stdout.write(
      `${name}: ${REQUESTS} requests, ${pairs.size} pairs; ${JSON.stringify(Object.fromEntries(figures))}\n`,
    )
    expect(Object.fromEntries(pairs)).toEqual({})
    expect(counts.get('served')).toBeGreaterThan(REQUESTS / 10)
  })
}

/** @param ready the text before the port or the URL, in the line that says that a server listens */
const listens =
  (name: string, ready: RegExp) =>
  (line: string): Served | undefined => {
    const [, port] = ready.exec(line) ?? []
    return port === undefined ? undefined : { name, url: `http://127.0.0.1:${port}` }
  }

const listed = (line: string): Served | undefined => {
  const [, name, url] = /^(\S+) (http:\S+)$/.exec(line) ?? []
  return name === undefined || url === undefined ? undefined : { name, url }
}

const urlOf = async (served: Promise<readonly Served[]>, name: string) => {
  const url = (await served).find((each) => each.name === name)?.url
  if (url === undefined) throw new Error(`${name} is not served`)
  return url
}

const node = await obtained('Express and Hono', installFrameworks)
describe.runIf(node.ok)('Node', () => {
  const folder = node.ok ? node.value : ''
  agrees('Express', plain, () => serveExpress(folder, TABLE, plain.client))
  agrees('Hono', plain, () => serveHono(folder, TABLE, plain.client))
  agrees('Fastify', plain, () => serveFastify(folder, TABLE, plain.client))
  agrees('Fastify with hosts', hosts, () => serveFastify(folder, hosts.table, hosts.client))
})

const go = await available(
  'Go',
  () => run('go', ['mod', 'download'], { cwd: join(programs, 'go'), env: { GOWORK: 'off' } }),
  async () => {
    const program = join(newFolder(), 'routers')
    await run('go', ['build', '-o', program, '.'], { cwd: join(programs, 'go'), env: { GOWORK: 'off' } })
    return program
  },
)
describe.runIf(go.ok)('Go', () => {
  const program = go.ok ? go.value : ''
  const served = (of: Serving) => startProgram([program], of.env, listed, 2)
  const ofPlain = go.ok ? served(plain) : Promise.resolve([])
  agrees('ServeMux', plain, () => urlOf(ofPlain, 'ServeMux'))
  agrees('chi', plain, () => urlOf(ofPlain, 'chi'))
  agrees('ServeMux with hosts', hosts, () => urlOf(served(hosts), 'ServeMux'))
})

const python = await available(
  'Python',
  async () => ({
    tools: await pythonBuildTools(),
    bin: await installedFromPython('routers', {
      files: [
        join(repository, 'clients/python/requirements-dev.txt'),
        join(programs, 'python/requirements.txt'),
      ],
    }),
  }),
  async ({ tools, bin }) => {
    await makePythonStubs(tools)
    return bin
  },
)
const uwsgi = await obtained('uWSGI', () => installedFromPython('uwsgi', ['uwsgi==2.0.31'], []))
describe.runIf(python.ok)('Python', () => {
  const bin = python.ok ? python.value : ''
  const cwd = join(programs, 'python')
  const envOf = ({ env }: Serving) => ({
    ...env,
    PYTHONPATH: join(repository, 'clients/python/src'),
    PYTHONDONTWRITEBYTECODE: '1',
  })
  const start = (name: string, of: Serving, words: readonly string[], ready: RegExp) =>
    urlOf(startProgram(words, envOf(of), listens(name, ready), 1, cwd), name)
  const gunicorn = (app: string) => [
    ...[join(bin, 'gunicorn'), '--bind', '127.0.0.1:0', '--threads', '4', `routers:${app}`],
  ]
  const LISTENING = /Listening at: http:\/\/127\.0\.0\.1:(\d+)/
  const uvicorn = (parser: string) => [
    ...[join(bin, 'uvicorn'), '--port', '0', '--no-access-log', '--http', parser, 'routers:fastapi_asgi'],
  ]
  const RUNNING = /[Rr]unning on http:\/\/127\.0\.0\.1:(\d+)/
  const oneApi = python.ok
    ? startProgram([join(bin, 'python'), 'routers.py'], envOf(plain), listed, 5, cwd)
    : Promise.resolve([])
  for (const name of ['waitress', 'Werkzeug', 'wsgiref', 'gevent'])
    agreesOnHeaders(name, plain, () => urlOf(oneApi, name))
  agreesOnHeaders('cheroot', plain, () => urlOf(oneApi, 'cheroot'), 'INTERNAL')
  agrees('Flask, gunicorn', plain, () => start('Flask', plain, gunicorn('flask_app'), LISTENING))
  agrees('Django, gunicorn', plain, () => start('Django', plain, gunicorn('django_app'), LISTENING))
  agrees('FastAPI, uvicorn with httptools', plain, () =>
    start('FastAPI', plain, uvicorn('httptools'), RUNNING),
  )
  agrees('FastAPI with hosts, uvicorn with h11', hosts, () =>
    start('FastAPI', hosts, uvicorn('h11'), RUNNING),
  )
  agrees('Django, hypercorn', plain, () =>
    start('Django', plain, [join(bin, 'hypercorn'), '--bind', '127.0.0.1:0', 'routers:django_asgi'], RUNNING),
  )
  describe.runIf(uwsgi.ok)('uWSGI', () => {
    const words = [
      ...[join(uwsgi.ok ? uwsgi.value : '', 'uwsgi'), '--http-socket', '127.0.0.1:0', '--die-on-term'],
      ...['--master', '--need-app', '--lazy-apps', '--enable-threads', '--threads', '4'],
      ...['--disable-logging', '--virtualenv', join(bin, '..'), '--module', 'routers:flask_app'],
    ]
    // Its server takes `_` for `-`, of which the guard says that it was not tested.
    agreesOnHandlers('Flask, uWSGI', plain, () =>
      start('Flask', plain, words, /bound to TCP address 127\.0\.0\.1:(\d+)/),
    )
  })
})

const java = await available(
  'Java',
  async () => {
    const pom = join(programs, 'java/pom.xml')
    const version = await run('java', ['--version'])
    return installed('routers-java', [version, readFileSync(pom, 'utf8')], async (folder) => {
      const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'jars')}`]
      await run('mvn', ['--quiet', '--batch-mode', '--file', pom, ...goal])
    })
  },
  async (folder) => {
    const built = newFolder()
    const client = join(repository, 'clients/java')
    await run('mvn', ['-q', '-B', `-Dbuild.folder=${join(built, 'target')}`, 'compile'], { cwd: client })
    const path = [join(built, 'target/classes'), join(folder, 'jars', '*')].join(delimiter)
    const classes = join(built, 'classes')
    await run('javac', ['-cp', path, '-d', classes, join(programs, 'java/src/Routers.java')])
    return ['java', '-cp', [classes, path].join(delimiter), 'Routers']
  },
)
describe.runIf(java.ok)('Java', () => {
  const words = java.ok ? java.value : []
  const ofTexts = java.ok ? startProgram(words, texts.env, listed, 3) : Promise.resolve([])
  agrees('Tomcat', texts, () => urlOf(ofTexts, 'Tomcat'))
  agreesOnHeaders('Jetty', texts, () => urlOf(ofTexts, 'Jetty'))
  agrees('Spring', plain, () => urlOf(startProgram(words, plain.env, listed, 1), 'Spring'))
})

const rust = await obtained('Rust', () => cargo(['--version']))
describe.runIf(rust.ok)('Rust', () => {
  agrees('axum', plain, async () => {
    await cargo(['build', '--locked', '--quiet'], { cwd: join(programs, 'rust') })
    return urlOf(startProgram([join(cargoFolder, 'debug/routers')], plain.env, listed, 1), 'axum')
  })
})
