/**
 * The servers of benchmarks in this process, for suites at smoke size: no figure counts there, and to start a
 * process takes longer than to ask it everything.
 */
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { pino } from 'pino'
import { vi } from 'vitest'
import { type Cost, measureCost } from '../../bench/harness/cost.ts'
import type { Latencies } from '../../bench/harness/latency.ts'
import { ServerProcess } from '../../bench/harness/process.ts'
import { Skips } from '../../bench/harness/skips.ts'
import type { Served } from '../../bench/servers/served.ts'
import { prepareDemo } from '../../sidecar/cli/commands/demo.ts'
import { addSidecarOptions, type SidecarOptions, sourcesOf } from '../../sidecar/cli/commands/serve.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { startSidecar } from '../../sidecar/process/sidecar.ts'

/** From now on no server is a separate process, and no foreign software is there. */
export function benchHere(): void {
  vi.spyOn(ServerProcess, 'start').mockImplementation(async (program, [...words], _flags, environment) => {
    const served = program.endsWith('portcullis.js')
      ? await serveSidecar(words, environment)
      : await ((await import(pathToFileURL(program).href)) as Program).serve(...words)
    return new ServerHere(served) as unknown as ServerProcess<never>
  })
  vi.spyOn(Skips.prototype, 'obtain').mockImplementation(async function (this: Skips, rows) {
    this.list.push(...rows.map((row) => ({ row, why: 'this run has only Node' })))
    return undefined
  })
}

interface Program {
  serve(...words: readonly string[]): Promise<Served>
}

/** Its figures are made up: each look at a figure finds a little more. */
class ServerHere {
  readonly ready: object
  readonly #served: Served | { stop(): Promise<void> }
  #figure = 1

  constructor(served: Served | (Pick<Served, 'ready'> & { stop(): Promise<void> })) {
    this.ready = served.ready
    this.#served = served
  }

  readonly cpuMicroseconds = () => this.#more()
  readonly residentBytes = () => this.#more()
  readonly trimmedResidentBytes = () => this.#more()
  readonly oldGenerationBytes = () => this.#more()
  readonly longestBlockMicroseconds = () => this.#more()

  costPerCall(calls: number, work: () => Promise<Latencies>): Promise<Cost> {
    return measureCost(calls, () => this.#more(), work)
  }

  async stop(): Promise<void> {
    await this.#served.stop()
  }

  #more(): number {
    return this.#figure++
  }
}

/** `portcullis serve --json`, with or without `--dev`. */
async function serveSidecar(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const command = addSidecarOptions(new Command()).option('--dev').option('--json')
  const options: SidecarOptions & { dev?: boolean } = command.parse(words.slice(1), { from: 'user' }).opts()
  const sources = sourcesOf(options)
  const config = readConfig({ ...sources, environment })
  const dev = options.dev ? await prepareDemo(config, sources.flags, true) : undefined
  const log = pino({ level: 'silent' })
  const start = (its: typeof config) => startSidecar(its, { log })
  const serving = await (dev?.start(start) ?? start(config))
  const demo = await dev?.populate(serving)
  return {
    ready: {
      ...{ grpc: serving.grpcAddress, http: serving.httpAddress ?? 'off', egress: serving.egressAddress },
      ...{ matrix_digest: serving.matrixDigest },
      ...(demo && { demo: { ...demo, service_user: demo.serviceUser, static_token: demo.staticToken } }),
    },
    stop: async () => {
      await serving.close()
      dev?.remove()
    },
  }
}
