/** Requests that come a byte at a time: each is ended, and others are answered meanwhile. */
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { attackedSidecar, report, type StartAttack, timesOf } from '../support/attack/attack-scene.ts'
import { scenario } from '../support/attack/scenario.ts'

const CONNECTIONS = 400
/**
 * Time between two bytes of a connection, in milliseconds: far shorter than any timeout of a silent
 * connection.
 */
const BYTE_EVERY_MS = 500
/** Longer than a request may take to come, so that some are ended. */
const NEWCOMERS_MS = 12_000

const HEAD = 'POST /identity/v3/auth/tokens HTTP/1.1\r\nhost: 127.0.0.1\r\n'
/** The bytes that come at once: the headers do not end, or the body does not. */
const BEGINNINGS = [
  `${HEAD}x-slow: `,
  `${HEAD}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{"auth": "`,
]

/** Keeps that many slow connections open: one that is ended is opened again. */
const slowRequests: StartAttack = async ({ served }) => {
  const port = Number(served.ready.http.slice(served.ready.http.lastIndexOf(':') + 1))
  const sockets = new Set<Socket>()
  const ended = BEGINNINGS.map(() => 0)
  let over = false
  const open = (which: number) => {
    const socket = connect(port, '127.0.0.1')
    sockets.add(socket)
    socket.on('error', () => {}).resume()
    socket.once('close', () => {
      sockets.delete(socket)
      if (over) return
      ended[which] = (ended[which] ?? 0) + 1
      open(which)
    })
    socket.write(BEGINNINGS[which] ?? '')
  }
  for (let count = 0; count < CONNECTIONS; count++) open(count % BEGINNINGS.length)
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, BYTE_EVERY_MS)
  return async () => {
    over = true
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
    return { 'ended in the headers': ended[0] ?? 0, 'ended in the body': ended[1] ?? 0 }
  }
}

test('400 requests that come a byte at a time do not block others, and are ended', async () => {
  const scene = await attackedSidecar()
  const probe = async () => {
    const headers = { connection: 'close' }
    const { status } = await fetch(`http://${scene.served.ready.http}/identity/v3`, { headers })
    if (status !== 200) throw new Error(`status ${status}`)
  }
  const newcomers = () => {
    const end = performance.now() + NEWCOMERS_MS
    return timesOf(() => performance.now() < end, probe, 5)
  }
  const name = '400 requests of HTTP that come a byte at a time'
  const { outcome, also } = await scenario(scene, name, slowRequests, newcomers)
  report(name, { 'answers to newcomers': also.count, 'longest answer, ms': Math.round(also.longest) })
  expect(also.failures).toEqual([])
  for (const count of Object.values(outcome)) expect(count).toBeGreaterThanOrEqual(CONNECTIONS / 2)
})
