/**
 * The control panel without a browser and without a sidecar: a fake `fetch`, a fake clock, and what other
 * tabs would hear.
 */
import { type Panel, panelIn, type Told } from '../../../console/panel/model/panel.ts'
import type { Session, Who } from '../../../console/panel/model/wire.ts'

export const ANNA: Who = {
  ...{ type: 'user', account: '123456', name: 'anna', owner: true, administrator: true, roles: [] },
}

/** When the fake clock of this machine begins. The sidecar's is an hour ahead. */
export const NOW_MS = Date.UTC(2026, 10, 22, 12)
export const AHEAD_MS = 3_600_000

export function sessionOf(who: Who = ANNA): Session {
  const nowMs = NOW_MS + AHEAD_MS
  return {
    ...{ signedIn: true, id: 's1', who, address: null, createdAtMs: nowMs, confirmedUntilMs: nowMs, nowMs },
    ...{ idleUntilMs: nowMs + 1_800_000, endsAtMs: nowMs + 43_200_000, passkeys: true },
  }
}

/** The fake sidecar's answer: a status with JSON, or nothing at all. */
export type Answer = readonly [status: number, body?: object, retryAfter?: number] | 'unreachable'

export interface Asked {
  readonly path: string
  readonly method: string
  readonly headers: Headers
  readonly body: unknown
  /** Whether it goes on when its page is left. */
  readonly keepalive: boolean
}

export interface FakePanel {
  readonly panel: Panel
  readonly asked: readonly Asked[]
  /** How long it waited, in milliseconds. */
  readonly waited: readonly number[]
  readonly told: readonly Told[]
}

/** @param answer to a request, by its path and how often the path was asked before */
export function fakePanel(answer: (path: string, before: number, asked: Asked) => Answer): FakePanel {
  const asked: Asked[] = []
  const waited: number[] = []
  const told: Told[] = []
  const panel = panelIn({
    fetch: async (input, init = {}) => {
      const path = String(input)
      const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
      const request = {
        ...{ path, method: init.method ?? 'GET', headers: new Headers(init.headers), body },
        keepalive: init.keepalive ?? false,
      }
      const given = answer(path, asked.filter((each) => each.path === path).length, request)
      asked.push(request)
      if (given === 'unreachable') throw new TypeError('Failed to fetch')
      const [status, json, retryAfter] = given
      const headers = {
        'Content-Type': 'application/json',
        ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      }
      return new Response(json === undefined ? null : JSON.stringify(json), { status, headers })
    },
    wait: async (ms) => {
      waited.push(ms)
    },
    now: () => NOW_MS,
    tell: (each) => told.push(each),
  })
  return { panel, asked, waited, told }
}
