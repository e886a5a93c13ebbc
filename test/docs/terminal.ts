/**
 * A reader's terminal: one bash for a page, in a separate folder. `npx portcullis` and `npm start` run this
 * checkout there, on free ports, and the packages are found by their names.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../support/checkout/sources.ts'
import { eventually } from '../support/suite/resources.ts'

/** The result of a block. */
export interface Ran {
  /** Standard output and standard error, as a terminal shows them. */
  readonly output: string
  /** Exit code of the last command. */
  readonly status: number
  /** The last command that did not succeed, if any did not. */
  readonly failed: string
}

/** Where the packages are in the checkout. */
export const PACKAGES: Readonly<Record<string, string>> = {
  '@portcullis/engine': 'engine/index.ts',
  '@portcullis/matrix': 'matrix/index.ts',
  '@portcullis/client': 'clients/typescript/index.ts',
  '@portcullis/client/node': 'clients/typescript/node.ts',
  '@portcullis/client/fastify': 'clients/typescript/fastify.ts',
  '@portcullis/client/hono': 'clients/typescript/hono.ts',
  '@portcullis/client/fetch': 'clients/typescript/fetch.ts',
}

/** The addresses that the pages show, which are another's on a machine that runs tests. */
const GRPC_SHOWN = '127.0.0.1:50051'
const HTTP_SHOWN = '127.0.0.1:8180'
/** Replaced by a free port until a sidecar has said which one it got. */
const EGRESS_SHOWN = '127.0.0.1:8181'
/** A test opens no port to other machines. */
const ANYWHERE_SHOWN = '0.0.0.0:50051'
const FREE_PORT_HERE = '127.0.0.1:0'
/** Where a reader's own service listens. */
const SERVICE_SHOWN = '127.0.0.1:3000'

export class Terminal {
  readonly folder: string
  readonly #bash: ChildProcess
  readonly #answers: Interface
  readonly #tools: string
  readonly #replaced = new Map([
    [ANYWHERE_SHOWN, FREE_PORT_HERE],
    [EGRESS_SHOWN, FREE_PORT_HERE],
  ])
  #blocks = 0
  /** Process groups of what was started. */
  #groups: number[] = []

  private constructor(folder: string, tools: string, bash: ChildProcess, answers: Interface) {
    this.folder = folder
    this.#tools = tools
    this.#bash = bash
    this.#answers = answers
  }

  /** @param path folders that are looked into for programs before all others */
  static open(path: readonly string[] = []): Terminal {
    const base = mkdtempSync(join(tmpdir(), 'portcullis-docs-'))
    const [folder, tools] = [join(base, 'page'), join(base, 'tools')]
    for (const each of [folder, tools]) mkdirSync(each)
    writeTools(tools)
    writePackages(folder)
    for (const name of ['proto', 'matrix', 'clients', 'examples'])
      symlinkSync(join(ROOT, name), join(folder, name))
    const own = Object.entries(process.env).filter(([name]) => !/^(PORTCULLIS_|npm_|NODE_)/i.test(name))
    const bash = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      env: {
        ...Object.fromEntries(own),
        PORT: '0',
        PATH: [...path, tools, dirname(process.execPath), process.env.PATH].join(delimiter),
        // Dozens of commands load the same sources.
        NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/portcullis-docs'),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const answers = createInterface(bash.stdout)
    bash.stdin.write(`trap '[ -n "$__failed" ] || __failed="$BASH_COMMAND ($?)"' ERR\n`)
    return new Terminal(folder, tools, bash, answers)
  }

  /** Replaces a shown text by the actual one, which only a reader knows, or which differs here. */
  replace(shown: string, actual: string): void {
    this.#replaced.set(shown, actual)
  }

  /** Adds a program to those that are found first. @param script for `sh` */
  addTool(name: string, script: string): void {
    writeTool(this.#tools, name, [script])
  }

  /** The text of a page as it is meant here. */
  meant(text: string): string {
    let meant = text
    for (const [shown, actual] of this.#replaced) meant = meant.replaceAll(shown, actual)
    return meant
  }

  save(name: string, text: string): void {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, this.meant(text))
  }

  /** Runs a block, and keeps what it sets for the next ones. */
  async run(block: string): Promise<Ran> {
    const [file, output] = this.#write(block)
    const [status = '', failed = ''] = await this.#ask(
      `__failed=; . '${file}' </dev/null >'${output}' 2>&1; printf '%s\\t%s\\n' "$?" "$__failed"`,
    )
    return { output: readFileSync(output, 'utf8'), status: Number(status), failed }
  }

  /**
   * Starts a block that serves, and resolves with what it has printed when it is ready.
   *
   * @throws Error where it ends instead
   */
  async start(block: string): Promise<string> {
    const [file, output] = this.#write(block)
    // With job control it is a separate process group.
    const [pid = ''] = await this.#ask(
      `set -m; (export ${SERVES}=1; . '${file}') </dev/null >'${output}' 2>&1 & set +m; printf '%s\\t\\n' "$!"`,
    )
    this.#groups.push(Number(pid))
    return eventually(async () => {
      const text = existsSync(output) ? readFileSync(output, 'utf8') : ''
      const [, port] = /^listening on .*port: (\d+)/m.exec(text) ?? []
      const addresses = addressesIn(text)
      if (addresses !== undefined) await this.#use(addresses)
      if (port !== undefined) this.replace(SERVICE_SHOWN, `127.0.0.1:${port}`)
      if (addresses !== undefined || port !== undefined) return text
      if (!isRunning(Number(pid))) throw new Error(`the server ended: ${text}`)
      return undefined
    })
  }

  /** Stops everything that was started, and waits for its end. */
  async stop(): Promise<void> {
    const file = join(this.#tools, PIDS)
    const pids = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []
    rmSync(file, { force: true })
    signal(pids, 'SIGTERM')
    await ended(pids)
    // Programs beside the tools of this terminal. A group has the number of its first process, with a minus.
    const groups = this.#groups.splice(0).map((group) => -group)
    signal(groups, 'SIGTERM')
    await ended(groups)
  }

  async close(): Promise<void> {
    try {
      await this.stop()
    } finally {
      this.#bash.stdin?.end()
      rmSync(dirname(this.folder), { recursive: true, force: true, maxRetries: 5 })
    }
  }

  #write(block: string): [file: string, output: string] {
    const number = this.#blocks++
    const [file, output] = [join(this.#tools, `${number}.sh`), join(this.#tools, `${number}.txt`)]
    writeFileSync(file, this.meant(block))
    return [file, output]
  }

  /** Has bash run a line that answers with one line of fields. */
  #ask(line: string): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error('the shell ended'))
      this.#bash.once('exit', ended)
      this.#answers.once('line', (answer) => {
        this.#bash.removeListener('exit', ended)
        resolve(answer.split('\t'))
      })
      this.#bash.stdin?.write(`${line}\n`)
    })
  }

  async #use({ grpc, http, egress }: Addresses): Promise<void> {
    if (http !== undefined) this.replace(HTTP_SHOWN, http)
    if (egress !== undefined) this.replace(EGRESS_SHOWN, egress)
    if (grpc.startsWith('unix:')) return
    this.replace(GRPC_SHOWN, grpc)
    await this.run(`export PORTCULLIS_GRPC_ADDRESS=${grpc}`)
  }
}

interface Addresses {
  readonly grpc: string
  readonly http: string | undefined
  readonly egress?: string | undefined
}

/** The addresses that a server shows when it is ready, in a line, in its welcome or as JSON. */
function addressesIn(text: string): Addresses | undefined {
  const [, grpc, http] =
    /^ready: gRPC on ([^\s,]+), HTTP (?:off|on ([^\s,]+))/m.exec(text) ??
    /^ {2}gRPC +(\S+)\n {2}HTTP +(?:off|http:\/\/(\S+)).*[\s\S]*portcullis explain .*\n/m.exec(text) ??
    /^\{"event":"ready","grpc":"([^"]+)","http":"(?:off|([^"]+))"/m.exec(text) ??
    []
  const [, egress] = /^ready: .*, egress on ([^\s,]+)/m.exec(text) ?? []
  return grpc === undefined ? undefined : { grpc, http, egress }
}

/** Waits until all of them have ended. Nothing is left running. */
async function ended(pids: readonly number[]): Promise<void> {
  try {
    await eventually(() => !pids.some(isRunning))
  } finally {
    signal(pids, 'SIGKILL')
  }
}

function isRunning(pid: number): boolean {
  return sent(pid, 0)
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) sent(pid, name)
}

/** Whether there is such a process. It may end at any moment. */
function sent(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The tools `npx`, `npm` and `node` here: the checkout, without the second that npm takes to start. */
function writeTools(folder: string): void {
  const launcher = `'${process.execPath}' '${join(ROOT, 'sidecar/portcullis.js')}'`
  const remembered = `[ -z "$${SERVES}" ] || echo $$ >>'${join(folder, PIDS)}'`
  const free = (name: string) => `export ${name}="\${${name}:-127.0.0.1:0}"`
  const freePorts = [free('PORTCULLIS_GRPC_ADDRESS'), free('PORTCULLIS_HTTP_ADDRESS')].join('; ')
  const tools = {
    node: [remembered, `exec '${process.execPath}' "$@"`],
    npx: [
      remembered,
      'name=$1; shift',
      `[ "$name" = node ] && exec '${process.execPath}' "$@"`,
      `[ "$name" = portcullis ] || exec "${join(ROOT, 'node_modules/.bin')}/$name" "$@"`,
      `if [ "$1" = serve ]; then ${freePorts}; fi`,
      `exec ${launcher} "$@"`,
    ],
    npm: [
      // Continuous integration begins with the one, and the tests of the packages do the other.
      '[ "$*" = ci ] || [ "$*" = "run build" ] && exit 0',
      '[ "$*" = start ] || { echo "npm $*: not run in tests of the pages" >&2; exit 1; }',
      `${remembered}; cd '${ROOT}'; unset PORTCULLIS_GRPC_ADDRESS PORTCULLIS_HTTP_ADDRESS; ${freePorts}`,
      `exec ${startScript()}`,
    ],
  }
  for (const [name, lines] of Object.entries(tools)) writeTool(folder, name, lines)
}

function writeTool(folder: string, name: string, lines: readonly string[]): void {
  writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'))
  chmodSync(join(folder, name), 0o755)
}

/** Variable that says that what is run serves. Not one that begins like the product's own. */
const SERVES = 'DOCS_IN_BACKGROUND'

/** File of the processes that serve. */
const PIDS = 'pids'

/** The start command of package.json, without the shell that npm puts around it. */
function startScript(): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return scripts.start.replace(/^exec /, '').replace(/^node /, `'${process.execPath}' `)
}

/**
 * `import … from '@portcullis/engine'` means the checkout's sources; other imports of pages are those that
 * the checkout has installed.
 */
function writePackages(folder: string): void {
  const modules = join(folder, 'node_modules')
  for (const [path, source] of Object.entries(PACKAGES)) {
    const [scope = '', unscoped = '', entry = 'index'] = path.split('/')
    const location = join(modules, scope, unscoped)
    mkdirSync(location, { recursive: true })
    const exports = { '.': './index.js', './*': './*.js' }
    const manifest = { name: `${scope}/${unscoped}`, type: 'module', exports }
    writeFileSync(join(location, 'package.json'), JSON.stringify(manifest))
    // Sources in `node_modules` are not run as they are, so they are named from there.
    const url = pathToFileURL(join(ROOT, source)).href
    writeFileSync(join(location, `${entry}.js`), `export * from ${JSON.stringify(url)}\n`)
  }
  symlinkSync(join(ROOT, 'node_modules/fastify'), join(modules, 'fastify'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
}
