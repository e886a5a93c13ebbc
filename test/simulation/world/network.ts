/**
 * The network between the machines of a fleet. Connections are as those of TCP: messages on one arrive in
 * their order, or the connection is lost. Calls overtake each other. While two machines are cut off from each
 * other, nothing arrives, and neither is notified.
 */
import {
  type CallContext,
  type CallStatus,
  type Methods,
  type Responses,
  STATUS,
} from '../../../sidecar/contract/call.ts'
import {
  KEEPALIVE_MS,
  KEEPALIVE_TIMEOUT_MS,
  type TransportOptions,
} from '../../../sidecar/transports/transport.ts'
import type { FactorServices } from '../../../sidecar/usecases/control-panel/factors.ts'
import { type Machine, thisMachine, time } from './time.ts'

/** The metadata of a call. */
type Fields = ReadonlyMap<string, readonly string[]>

interface Server {
  readonly machine: Machine
  readonly methods: Methods
  readonly statusOf: TransportOptions['statusOf']
}

/** A control panel, as the pages of browsers ask it. */
export type Panel = FactorServices

/** How long a browser waits for an answer where nothing else is said, in milliseconds. */
const BROWSER_MS = 3_000

/** A browser was not answered. */
export class Unanswered extends Error {}

/** After this time a server finds out that a connection is dead, in milliseconds. */
const DEAD_MS = KEEPALIVE_MS + KEEPALIVE_TIMEOUT_MS

/** How long it takes until a connection that is refused is known to be. */
const REFUSED_MS = 1

class Network {
  #servers = new Map<string, Server>()
  #panels = new Map<string, { readonly machine: Machine; readonly panel: Panel }>()
  #shared = new Map<string, () => string>()
  #cutOff = new Map<string, number>()
  #slow = new Map<string, { readonly untilMs: number; readonly ms: number }>()
  #far = new Map<string, number>()
  #streams = new Set<Stream>()
  /** How long a message takes, in milliseconds. */
  delayMs: () => number = () => 1
  /** How long a browser waits for an answer, in milliseconds. */
  patienceMs = BROWSER_MS

  begin(): void {
    this.#servers = new Map()
    this.#panels = new Map()
    this.#shared = new Map()
    this.#cutOff = new Map()
    this.#slow = new Map()
    this.#far = new Map()
    this.patienceMs = BROWSER_MS
    this.#streams = new Set()
  }

  listen(address: string, server: Server): void {
    this.#servers.set(address, server)
  }

  close(address: string): void {
    this.#servers.delete(address)
  }

  servePanel(address: string, machine: Machine, panel: Panel): void {
    this.#panels.set(address, { machine, panel })
  }

  /** Asks a control panel. @throws CallError, or Unanswered where the request or the answer is lost */
  browse<T>(address: string, ask: (panel: Panel) => Promise<T>): Promise<T> {
    const from = here()
    const server = this.#panels.get(address)
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Unanswered()), server?.machine.alive ? this.patienceMs : REFUSED_MS)
      if (server === undefined) return
      const answer = (settle: () => void) => this.travel(server.machine, from, settle)
      this.travel(from, server.machine, () => {
        ask(server.panel).then(
          (value) => answer(() => resolve(value)),
          (error) => answer(() => reject(error)),
        )
      })
    })
  }

  /** Behind an address are several, as behind a load balancer: each call and each stream reaches one. */
  share(address: string, pick: () => string): void {
    this.#shared.set(address, pick)
  }

  #reached(address: string): Server | undefined {
    return this.#servers.get(this.#shared.get(address)?.() ?? address)
  }

  /** For this time nothing arrives between these two. */
  cutOff(one: string, other: string, ms: number): void {
    this.#cutOff.set(pair(one, other), time.nowMs + ms)
  }

  /** For this time everything between these two takes longer by `moreMs`. */
  slowDown(one: string, other: string, ms: number, moreMs: number): void {
    this.#slow.set(pair(one, other), { untilMs: time.nowMs + ms, ms: moreMs })
  }

  /** Everything between these two always takes longer by `moreMs`. */
  placeApart(one: string, other: string, moreMs: number): void {
    this.#far.set(pair(one, other), moreMs)
  }

  /** How long a message between these two takes. */
  delayBetween(one: string, other: string): number {
    const slow = this.#slow.get(pair(one, other))
    const slowMs = slow !== undefined && slow.untilMs > time.nowMs ? slow.ms : 0
    return this.delayMs() + slowMs + (this.#far.get(pair(one, other)) ?? 0)
  }

  /** Everything arrives again, and soon. */
  heal(): void {
    this.#cutOff.clear()
    this.#slow.clear()
  }

  isCutOff(one: string, other: string): boolean {
    return (this.#cutOff.get(pair(one, other)) ?? 0) > time.nowMs
  }

  /** The streams that a machine reads, and those that it serves, as far as it knows. */
  streamsOf(machine: Machine): { readonly read: number; readonly served: number } {
    const streams = [...this.#streams]
    return {
      read: streams.filter(({ from, isRead }) => isRead && from === machine).length,
      served: streams.filter(({ to, isServed }) => isServed && to === machine).length,
    }
  }

  /** Ends every stream from or to this one; both sides are notified. */
  breakStreams(name: string): void {
    for (const stream of this.#streams)
      if (stream.from.name === name || stream.to.name === name) stream.break()
  }

  /** Every connection with a machine that has ended is reset. */
  ended(machine: Machine): void {
    for (const [address, server] of this.#servers)
      if (server.machine === machine) this.#servers.delete(address)
    for (const stream of this.#streams) if (stream.from === machine || stream.to === machine) stream.break()
  }

  /** Something travels. A message to a machine that has ended, or that is cut off, is lost. */
  travel(from: Machine, to: Machine, arrive: () => void, lost: () => void = () => {}): void {
    const isCutOff = () => this.isCutOff(from.name, to.name)
    if (isCutOff()) lost()
    else time.afterOn(to, this.delayBetween(from.name, to.name), () => (isCutOff() ? lost() : arrive()))
  }

  /**
   * Makes a call.
   *
   * @param over called once with how it ended, unless the answer is lost
   */
  call(
    address: string,
    path: string,
    request: Buffer,
    fields: Fields,
    over: (status: CallStatus, response?: Buffer) => void,
  ): void {
    const from = here()
    const server = this.#reached(address)
    if (server === undefined) {
      this.#refuse(from, over)
      return
    }
    const answer = (status: CallStatus, response?: Buffer) =>
      this.travel(server.machine, from, () => over(status, response))
    this.travel(from, server.machine, () => {
      const context = contextOf(from, fields)
      const fail = (error: unknown) => answer(server.statusOf(error, context))
      const method = server.methods.get(path)
      if (method?.type !== 'unary') return answer({ code: STATUS.UNIMPLEMENTED, message: path })
      try {
        method.admit?.(context)
        const response = method.handle(Buffer.from(request), context)
        if (!(response instanceof Promise)) answer(OK, response)
        else response.then((bytes) => answer(OK, bytes), fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Opens a stream of responses. */
  open(
    address: string,
    path: string,
    request: Buffer,
    fields: Fields,
    reader: StreamReader,
  ): { cancel(): void } {
    const from = here()
    const server = this.#reached(address)
    if (server === undefined) {
      this.#refuse(from, (status) => reader.over(status))
      return { cancel: () => {} }
    }
    const stream = new Stream(from, server.machine, reader, () => this.#streams.delete(stream))
    this.#streams.add(stream)
    this.travel(from, server.machine, () => {
      // A call that its client has given up does not begin.
      if (!stream.isRead) return
      const context = contextOf(from, fields)
      const method = server.methods.get(path)
      if (method?.type !== 'server_stream') return stream.close({ code: STATUS.UNIMPLEMENTED, message: path })
      const responses = stream.responses((error) => server.statusOf(error, context))
      try {
        method.admit?.(context)
        method.handle(Buffer.from(request), responses, context)
      } catch (error) {
        responses.fail(error)
      }
    })
    return { cancel: () => stream.cancel() }
  }

  #refuse(from: Machine, over: (status: CallStatus) => void): void {
    time.afterOn(from, REFUSED_MS, () => over({ code: STATUS.UNAVAILABLE, message: 'no server listens' }))
  }
}

interface StreamReader {
  data(response: Buffer): void
  over(status: CallStatus): void
}

/** A stream of responses, which arrive in their order. */
class Stream {
  readonly from: Machine
  readonly to: Machine
  readonly #reader: StreamReader
  readonly #forget: () => void
  readonly #endings: (() => void)[] = []
  #lastAtMs = 0
  #isOver = false

  constructor(from: Machine, to: Machine, reader: StreamReader, forget: () => void) {
    this.from = from
    this.to = to
    this.#reader = reader
    this.#forget = forget
  }

  get isRead(): boolean {
    return !this.#isOver
  }

  get isServed(): boolean {
    return this.#endings.length > 0
  }

  responses(statusOf: (error: unknown) => CallStatus): Responses {
    return {
      unread: false,
      write: (response) => this.#send(() => this.#reader.data(response)),
      end: () => this.close(OK),
      fail: (error) => this.close(statusOf(error)),
      onEnd: (listener) => {
        this.#endings.push(listener)
      },
    }
  }

  /** The server ends it. */
  close(status: CallStatus): void {
    if (this.#isOver) return
    this.#send(() => this.#over(status))
    this.#endAtServer()
  }

  /** The client ends it. */
  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    const end = () => this.#endAtServer()
    // A server whose client no longer says anything finds out by itself.
    if (this.isServed) network.travel(this.from, this.to, end, () => time.afterOn(this.to, DEAD_MS, end))
    else this.#forget()
  }

  /** The connection is reset. Both sides are notified. */
  break(): void {
    time.afterOn(this.from, 0, () =>
      this.#over({ code: STATUS.UNAVAILABLE, message: 'the connection is lost' }),
    )
    time.afterOn(this.to, 0, () => this.#endAtServer())
  }

  #send(arrive: () => void): void {
    // A connection on which something was lost delivers nothing after it.
    if (this.#isOver || network.isCutOff(this.from.name, this.to.name)) return void this.#stall()
    if (this.#stalled) return
    const atMs = Math.max(this.#lastAtMs, time.nowMs + network.delayBetween(this.from.name, this.to.name))
    this.#lastAtMs = atMs
    time.atOn(this.from, atMs, () => {
      if (!this.#isOver) arrive()
    })
  }

  #stalled = false

  #stall(): void {
    this.#stalled = true
  }

  #over(status: CallStatus): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.isServed) this.#forget()
    this.#reader.over(status)
  }

  #endAtServer(): void {
    for (const listener of this.#endings.splice(0)) listener()
    if (this.#isOver) this.#forget()
  }
}

export const network = new Network()

const OK: CallStatus = { code: STATUS.OK, message: '' }

function here(): Machine {
  const machine = thisMachine()
  if (machine === undefined) throw new Error('a call is made on a machine')
  return machine
}

function pair(one: string, other: string): string {
  return [one, other].sort().join(' ')
}

function contextOf(from: Machine, fields: Fields): CallContext {
  return {
    connection: connectionOf(from),
    metadata: (name) => fields.get(name) ?? [],
  }
}

/** All calls of a machine come on one connection. */
function connectionOf(machine: Machine): CallContext['connection'] {
  let connection = connections.get(machine)
  if (connection === undefined) {
    connection = { address: '127.0.0.1', certificateNames: [] }
    connections.set(machine, connection)
  }
  return connection
}

const connections = new WeakMap<Machine, CallContext['connection']>()
