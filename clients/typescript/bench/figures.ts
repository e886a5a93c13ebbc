/**
 * Measures the client, and prints one line of JSON: how long a check takes, and the memory of a token.
 * bench/suites/clients.ts starts it beside a sidecar, with `--expose-gc`, and says where in the environment:
 * `PORTCULLIS_GRPC_ADDRESS`, `CALLER_TOKEN` (with the right `follow`), `TOKENS_FILE` (a static token on each
 * line, each of which opens `balance`), `ACCOUNT`, `SECONDS` (how long a measurement lasts), and
 * `OPERATOR_TOKEN`, with which tokens are made and revoked, if it is set.
 */
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { type Client, connect } from '../index.ts'

const { env } = process
const seconds = Number(env.SECONDS ?? 1)
const target = { account: env.ACCOUNT ?? '' }
const clientAddress = '192.0.2.1'
const tokens = readFileSync(env.TOKENS_FILE ?? '', 'latin1')
  .trim()
  .split('\n')
  .map(fresh)
const order = shuffled(tokens.length)

/** Measures take turns in slices of calls: other work of the machine slows both. */
const SLICE = 100

const firstAnswer = median(await repeated(9, firstAnswerMs))
const local = connected(true)
const asking = connected(false)
const bytesPerToken = await learn(local)
const { lookup, check } = await compare(local)
const figures = {
  lookup_ns: lookup,
  local_check_ns: check,
  grpc_check_ns: await overGrpc(asking),
  bytes_per_token: bytesPerToken,
  first_local_answer_ms: firstAnswer,
  allocations_per_check: null,
  revocation_ms: env.OPERATOR_TOKEN === undefined ? null : await revocations(local, env.OPERATOR_TOKEN),
}
local.close()
asking.close()
process.stdout.write(`${JSON.stringify(figures)}\n`)

function connected(isLocal: boolean): Client {
  return connect(env.PORTCULLIS_GRPC_ADDRESS, {
    callerToken: env.CALLER_TOKEN ?? '',
    local: isLocal,
  })
}

/** A text as it comes from the network: its hash is not known yet. */
function fresh(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** Headers as `node:http` has them. */
function request(token: string) {
  return { host: fresh('api.example'), accept: '*/*', 'user-agent': fresh('curl/8'), 'x-token': fresh(token) }
}

function question(credentials: ReturnType<typeof request>) {
  return { api: 'balance', credentials, target, clientAddress }
}

async function untilKnown(client: Client, token: string): Promise<void> {
  while (client.checkLocally(question(request(token))) === undefined)
    await client.check(question(request(token)))
}

async function isAllowed(client: Client, headers: ReturnType<typeof request>): Promise<void> {
  const { allowed } = await client.check(question(headers))
  if (!allowed) throw new Error('expected that each token opens the API')
}

/** From connecting until a token that was asked about once is answered from memory. */
async function firstAnswerMs(): Promise<number> {
  const began = performance.now()
  const client = connected(true)
  await untilKnown(client, tokens[0] as string)
  const taken = performance.now() - began
  client.close()
  return taken
}

/** Asks about each token. @returns the bytes that the client keeps for one */
async function learn(client: Client): Promise<number> {
  await untilKnown(client, tokens[0] as string)
  const before = heap()
  for (const token of tokens.slice(1)) await client.check(question(request(token)))
  return (heap() - before) / (tokens.length - 1)
}

function heap(): number {
  if (gc === undefined) throw new Error('expected Node to be started with --expose-gc')
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

/**
 * Nanoseconds of a look-up in a Map, and of a check. They go through the tokens in the same order, and each
 * look-up says which one comes next.
 */
async function compare(client: Client) {
  const next = new Map(order.map((token, place) => [tokens[token], { place: (place + 1) % order.length }]))
  const lookups: number[] = []
  const checks: number[] = []
  const end = performance.now() + 2_000 * seconds
  for (let place = 0; checks.length === 0 || performance.now() < end; ) {
    const requests = order.map((token) => request(tokens[token] as string))
    const values = order.map((token) => fresh(tokens[token] as string))
    for (let start = 0; start < order.length; start += SLICE) {
      const some = requests.slice(start, start + SLICE)
      const began = process.hrtime.bigint()
      for (let count = 0; count < some.length; count++) place = next.get(values[place])?.place ?? 0
      const between = process.hrtime.bigint()
      let allowed = 0
      for (const headers of some) if (client.checkLocally(question(headers))?.allowed) allowed++
      const end = process.hrtime.bigint()
      // The client hears the sidecar between.
      await turn()
      // The machine may have been so busy that nothing was heard for too long.
      if (allowed < some.length) {
        for (const headers of some) await isAllowed(client, headers)
        continue
      }
      checks.push(Number(end - between) / some.length)
      lookups.push(Number(between - began) / some.length)
    }
  }
  return { lookup: median(lookups), check: median(checks) }
}

/** Nanoseconds of a check that the sidecar answers. */
async function overGrpc(client: Client): Promise<number> {
  const times: number[] = []
  const end = performance.now() + 1_000 * seconds
  while (times.length === 0 || performance.now() < end) {
    const headers = request(tokens[order[times.length % order.length] as number] as string)
    const began = performance.now()
    await client.check(question(headers))
    times.push((performance.now() - began) * 1e6)
  }
  return median(times)
}

/** How long a token that was revoked is still allowed, while it is checked all the time. */
async function revocations(client: Client, callerToken: string) {
  const operator = connect(env.PORTCULLIS_GRPC_ADDRESS, { callerToken })
  const delays = await repeated(seconds < 1 ? 3 : 100, async (number) => {
    const name = `typescript-${process.pid}-${number}`
    const { value } = await operator.directory.createStaticToken({ ...target, userName: 'owner', name })
    await untilKnown(client, value)
    const headers = request(value)
    await operator.revoke({ value })
    const began = performance.now()
    while (client.checkLocally(question(headers))?.allowed === true) await turn()
    return performance.now() - began
  })
  operator.close()
  const sorted = delays.toSorted((one, other) => one - other)
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] as number
  return { p50: at(0.5), p99: at(0.99) }
}

async function repeated(times: number, measure: (number: number) => Promise<number>): Promise<number[]> {
  const taken: number[] = []
  for (let number = 0; number < times; number++) taken.push(await measure(number))
  return taken
}

function median(samples: readonly number[]): number {
  return samples.toSorted((one, other) => one - other)[samples.length >> 1] as number
}

/** All numbers below in a random order, which is the same in each run. */
function shuffled(length: number): number[] {
  const numbers = Array.from({ length }, (_, index) => index)
  let state = 1
  for (let last = length - 1; last > 0; last--) {
    state = (state * 48_271) % 0x7fffffff
    const other = state % (last + 1)
    ;[numbers[last], numbers[other]] = [numbers[other] as number, numbers[last] as number]
  }
  return numbers
}
