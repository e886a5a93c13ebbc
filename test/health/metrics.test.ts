/** Metrics: their counts, their few labels without secrets, and their forms. Workers count as one. */
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PROBLEM_CODES } from '../../sidecar/base/health.ts'
import { Counts, Durations } from '../../sidecar/base/meters.ts'
import { gauge, lastingMetrics, type Metric, mergedMetrics } from '../../sidecar/base/metrics.ts'
import { deletedRows } from '../../sidecar/signals/metrics/collector.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { startIdentity } from '../support/identity/identity.ts'
import { serve } from '../support/processes/processes.ts'
import { workersOf } from '../support/processes/worker-storm.ts'
import { api, token as authzenToken, CALL, credential, EVALUATIONS } from '../support/proxies/authzen.ts'
import { checkRequest, extAuthzService } from '../support/proxies/ext-authz.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { documentedMetrics } from '../support/signals/metrics.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const CLAIMS = { kind: 'static_token', scope: { account: ACCOUNT } }

/** The queues and their lanes, by which metrics name them. */
const LANES: Readonly<Record<string, readonly string[]>> = {
  passwords: ['profiles', 'administration', 'proven', 'logins'],
  changes: ['operators', 'revocations', 'administrators', 'users'],
  signatures: ['unsuspected', 'suspected'],
  calls: ['callers', 'others', 'followers'],
}

async function scrape(address: string | undefined, accept?: string) {
  const answer = await fetch(`http://${address}/metrics`, { headers: accept === undefined ? {} : { accept } })
  const text = await answer.text()
  const series = new Map(
    Array.from(text.matchAll(/^([a-z_]+(?:\{.*\})?) (\S+)$/gm), ([, name = '', value]) => [
      name,
      Number(value),
    ]),
  )
  return { status: answer.status, type: answer.headers.get('content-type'), text, series }
}

describe('a sidecar counts', async () => {
  const config = newFile(
    JSON.stringify({
      health: { address: '127.0.0.1:0' },
      http: httpBehindProxy({ authorize: true, authzen: true }),
    }),
    'config.json',
  )
  const { running, ask, tokenFor } = await startIdentity({ config })
  const token = await tokenFor({})
  const authorization = `Bearer ${readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()}`
  const ofToken = authzenToken('static_token', { account: ACCOUNT })
  const box = new BlackBox(running.address)
  const credentials = { headers: [{ name: 'X-Auth-Token', value: token }] }
  const proxy = {
    'x-portcullis-proxy-secret': PROXY_SECRET,
    'x-forwarded-for': '203.0.113.5',
    'x-auth-token': token,
  }
  const decisions = async (protocol: string) => {
    const { series } = await scrape(running.sidecar.healthAddress)
    const found = [...series].filter(([name]) =>
      name.startsWith(`portcullis_decisions_total{protocol="${protocol}"`),
    )
    return Object.fromEntries(
      found.map(([name, value]) => [/api="(.*)",reason="(.*)"/.exec(name)?.slice(1).join(' '), value]),
    )
  }
  const durationsOf = async (protocol: string) =>
    (await scrape(running.sidecar.healthAddress)).series.get(
      `portcullis_check_duration_seconds_count{protocol="${protocol}"}`,
    )

  test('checks', async () => {
    for (let asked = 0; asked < 3; asked++) await box.ask('check', { api: 'balance', credentials })
    await box.ask('check', {
      api: 'reports',
      token: { kind: 'iam_token_account_scoped', scope: { account: '1' } },
    })
    expect(await decisions('grpc')).toEqual({ 'balance ALLOWED': 3, 'reports TOKEN_KIND_NOT_ACCEPTED': 1 })
    // One of sixteen is timed, beginning with the first.
    expect(await durationsOf('grpc')).toBe(1)
    for (let asked = 0; asked < 14; asked++) await box.ask('check', { api: 'iam', token: CLAIMS })
    expect(await durationsOf('grpc')).toBe(2)
  })

  test('batches, each decision and one duration', async () => {
    await box.ask('checkBatch', {
      checks: Array.from({ length: 50 }, () => ({ api: 'balance', token: CLAIMS })),
    })
    expect(await decisions('grpc-batch')).toEqual({ 'balance ALLOWED': 50 })
    expect(await durationsOf('grpc-batch')).toBe(1)
  })

  test('streams', async () => {
    for await (const answer of running.client.checkStream([{ api: 'balance', token: CLAIMS }])) void answer
    expect(await decisions('grpc-stream')).toEqual({ 'balance ALLOWED': 1 })
    expect(await durationsOf('grpc-stream')).toBe(1)
  })

  test('questions of Envoy, over gRPC and over HTTP', async () => {
    const envoy = new BlackBox(running.address, extAuthzService)
    const context = { api: 'balance' }
    await envoy.ask('check', checkRequest({ context, headers: [['x-auth-token', token]] }))
    expect(await decisions('ext_authz')).toEqual({ 'balance ALLOWED': 1 })
    expect(await durationsOf('ext_authz')).toBe(1)
    await ask({ path: '/ext-authz/api=balance/v1/items', headers: proxy })
    expect(await decisions('ext_authz-http')).toEqual({ 'balance ALLOWED': 1 })
  })

  test('questions of other proxies', async () => {
    await ask({ path: '/authorize/balance', headers: proxy })
    expect(await decisions('authorize')).toEqual({ 'balance ALLOWED': 1 })
    expect(await durationsOf('authorize')).toBe(1)
  })

  test('evaluations of AuthZEN', async () => {
    const entities = { resource: api('balance'), action: CALL }
    const body = {
      ...entities,
      evaluations: [{ subject: ofToken }, { subject: credential({ 'x-auth-token': token }) }],
    }
    expect((await ask({ method: 'POST', path: EVALUATIONS, body, headers: { authorization } })).status).toBe(
      200,
    )
    expect(await decisions('authzen')).toEqual({ 'balance ALLOWED': 2 })
    expect(await durationsOf('authzen')).toBe(1)
  })

  test('APIs that do not exist as one, however many clients name', async () => {
    const checks = Array.from({ length: 500 }, (_, index) => ({ api: `nope-${index}`, token: CLAIMS }))
    await box.ask('checkBatch', { checks })
    expect(await decisions('grpc-batch')).toEqual({ 'balance ALLOWED': 50, 'unknown UNKNOWN_API': 500 })
  })

  test('logins, tokens and errors, as the log names them', async () => {
    const wrong = { user_name: 'account', account: ACCOUNT, password: 'wrong' }
    await expect(box.ask('issue', { password: wrong, scope: { account: ACCOUNT } })).rejects.toThrow()
    const { series } = await scrape(running.sidecar.healthAddress)
    expect(series.get('portcullis_attempts_total{message="a login failed",reason="LOGIN_FAILED"}')).toBe(1)
    expect(series.get('portcullis_attempts_total{message="a token was issued",reason=""}')).toBe(1)
    expect(series.get('portcullis_call_errors_total{reason="LOGIN_FAILED"}')).toBe(1)
  })

  test('and says the state of its parts', async () => {
    const { series } = await scrape(running.sidecar.healthAddress)
    expect(series.get('portcullis_ready')).toBe(1)
    expect(series.get(`portcullis_matrix_info{digest="${running.sidecar.matrixDigest}"}`)).toBe(1)
    expect(series.get('portcullis_problem{code="matrix_stale"}')).toBe(0)
    expect(series.get('portcullis_signing_key_age_seconds{state="active"}')).toBeGreaterThan(0)
    expect(series.get('portcullis_cache_entries{cache="iam_tokens"}')).toBe(1)
    expect(series.get('portcullis_directory_position')).toBeGreaterThan(0)
    expect(series.get('portcullis_directory_known_age_seconds')).toBe(0)
    expect(series.get('portcullis_directory_touched_total{thing="everything"}')).toBe(0)
    const waiting = [...series].filter(([name]) => name.startsWith('portcullis_queue_waiting{'))
    const lanes = Object.entries(LANES).flatMap(([queue, names]) =>
      names.map((lane) => [`portcullis_queue_waiting{queue="${queue}",lane="${lane}"}`, 0] as const),
    )
    expect(new Map(waiting)).toEqual(new Map(lanes))
    expect(series.get('portcullis_process_cpu_seconds_total')).toBeGreaterThan(0)
  })

  test('with no account, user, token or address in any label', async () => {
    const { text } = await scrape(running.sidecar.healthAddress)
    for (const hidden of [
      ACCOUNT,
      token,
      PROXY_SECRET,
      'wrong',
      '203.0.113.5',
      '127.0.0.1',
      running.folder,
      'nope',
    ])
      expect(text).not.toContain(hidden)
  })

  const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
  const PLAIN = 'text/plain; version=0.0.4; charset=utf-8'
  test.each([
    ['*/*', PLAIN],
    ['text/plain', PLAIN],
    ['application/openmetrics-text', OPEN_METRICS],
    [
      'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1',
      OPEN_METRICS,
    ],
    ['application/openmetrics-text;q=0.2, text/plain;q=0.3', PLAIN],
    ['application/openmetrics-text;q=0', PLAIN],
  ])('for Accept: %s in the form that it prefers', async (accept, type) => {
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => scrape(running.sidecar.healthAddress, accept)),
    )
    for (const { status, type: found, text, series } of answers) {
      expect([status, found]).toEqual([200, type])
      expect(text.endsWith('\n# EOF\n')).toBe(type === OPEN_METRICS)
      expect(text).toContain(
        type === OPEN_METRICS
          ? '# TYPE portcullis_decisions counter\n'
          : '# TYPE portcullis_decisions_total counter\n',
      )
      expect(series.get('portcullis_decisions_total{protocol="grpc",api="balance",reason="ALLOWED"}')).toBe(3)
    }
  })

  test.each([
    'deploy/grafana/portcullis.json',
    'deploy/prometheus/portcullis.rules.yaml',
    'docs/operate/health.md',
  ])('every metric that %s names, and no other', async (file) => {
    const named = new Set(readFileSync(join(ROOT, file), 'utf8').match(/\bportcullis_[a-z_]+[a-z]\b/g))
    const { text } = await scrape(running.sidecar.healthAddress)
    const sources = globSync(['sidecar/**/*.ts'], { cwd: ROOT, exclude: ['sidecar/dist/**'] })
      .map((path) => readFileSync(join(ROOT, path), 'utf8'))
      .join('\n')
    // A metric that no part of this sidecar has is at least in the code.
    const known = (name: string) => text.includes(`# TYPE ${name} `) || sources.includes(`'${name}'`)
    const missing = [...named].filter(
      (name) => !known(name) && !known(name.replace(/_(bucket|sum|count)$/, '')),
    )
    expect(missing).toEqual([])
    expect(named.size).toBeGreaterThan(7)
  })

  test.each(['deploy/grafana/portcullis.json', 'deploy/prometheus/portcullis.rules.yaml'])(
    'every label and every code that %s asks for',
    (file) => {
      const rows = documentedMetrics()
      const selectors = readFileSync(join(ROOT, file), 'utf8').matchAll(/\b(portcullis_\w+)\{([^}]*)\}/g)
      const wrong = Array.from(selectors).flatMap(([all, metric = '', matchers = '']) => {
        const name = metric.replace(/_(bucket|sum|count)$/, '')
        const known = rows.find(({ names }) => names.includes(name))?.labels ?? []
        return Array.from(
          matchers.matchAll(/(\w+)(?:=~|!=|!~|=)\\?"([^"\\]*)/g),
          ([, label = '', value = '']) => {
            if (label === 'code') return (PROBLEM_CODES as string[]).includes(value) ? [] : [all]
            return [...known, 'instance', 'job'].includes(label) ? [] : [all]
          },
        ).flat()
      })
      expect(wrong).toEqual([])
    },
  )

  test('nothing that the documentation does not name, with its labels', async () => {
    const { text, series } = await scrape(running.sidecar.healthAddress)
    const names = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name)
    const labelsOf = new Map(
      documentedMetrics().flatMap(({ names, labels }) => names.map((name) => [name, labels])),
    )
    expect(names.filter((name) => !labelsOf.has(name))).toEqual([])
    const unnamed = [...series.keys()].filter((each) => {
      const [, name = ''] = /^(\w+?)(_bucket|_sum|_count)?(\{|$)/.exec(each) ?? []
      const labels = Array.from(each.matchAll(/[{,](\w+)="/g), ([, label = '']) => label)
      return labels.some((label) => label !== 'le' && !labelsOf.get(name)?.includes(label))
    })
    expect(unnamed).toEqual([])
  })
})

test('with `health.metrics: false` there is no such path', async () => {
  const { sidecar } = await runSidecar({
    flags: { 'health.address': '127.0.0.1:0', 'health.metrics': false },
  })
  expect((await scrape(sidecar.healthAddress)).status).toBe(404)
  expect(sidecar.metrics()).toEqual([])
})

test('calls of an upstream count, with their outcome', async () => {
  const password_file = newFile('a password')
  const config = newFile(
    JSON.stringify({
      upstreams: { cloud: { auth_url: 'http://127.0.0.1:1', verify: { profile: 'job' } } },
      profiles: { job: { upstream: 'cloud', account: '1', user_name: 'x', password_file } },
    }),
    'config.json',
  )
  const { sidecar, client } = await runSidecar({ config, flags: { 'health.address': '127.0.0.1:0' } })
  const check = client.check({ api: 'balance', credentials: [['X-Auth-Token', 'of-the-upstream']] })
  await expect(check).rejects.toMatchObject({ reason: 'UPSTREAM_UNAVAILABLE' })
  const { series } = await scrape(sidecar.healthAddress)
  expect(series.get('portcullis_upstream_calls_total{upstream="cloud",result="failed"}')).toBeGreaterThan(0)
  expect(series.get('portcullis_call_errors_total{reason="UPSTREAM_UNAVAILABLE"}')).toBe(1)
})

test('decisions without a line in the decision log count, from 0', async () => {
  const refusing = createServer((request, response) => {
    request.resume()
    response.writeHead(400).end()
  }).listen(0, '127.0.0.1')
  whenTheFileEnds(() => refusing.close())
  await new Promise((resolve) => refusing.once('listening', resolve))
  const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/v1/logs`
  const config = newFile(JSON.stringify({ decision_log: { otlp: { url } } }), 'config.json')
  const { sidecar, client } = await runSidecar({ config, flags: { 'health.address': '127.0.0.1:0' } })
  const dropped = async () =>
    (await scrape(sidecar.healthAddress)).series.get('portcullis_decision_log_lines_dropped_total')
  // Prometheus sees an increase only of a series that was there before.
  expect(await dropped()).toBe(0)
  for (let asked = 0; asked < 3; asked++) await client.check({ api: 'balance', token: CLAIMS })
  await eventually(async () => (await dropped()) === 3)
})

test('connections beyond the bound count', async () => {
  const flags = { 'health.address': '127.0.0.1:0', 'grpc.max_connections': 1 }
  const { sidecar, address } = await runSidecar({ flags })
  for (let opened = 0; opened < 3; opened++) {
    const socket = connectSocket(Number(address.split(':')[1]), '127.0.0.1').on('error', () => {})
    whenTheFileEnds(() => socket.destroy())
  }
  await eventually(async () => {
    const { series } = await scrape(sidecar.healthAddress)
    return (series.get('portcullis_bounds_exceeded_total{listener="grpc",bound="connections"}') ?? 0) > 0
  })
})

test('series beyond the bound count as others', () => {
  const counts = new Counts('portcullis_x_total', 'x', ['a', 'b'], 100)
  for (let index = 0; index < 300; index++) counts.add(counts.cell(String(index), 'b'))
  for (let index = 0; index < 300; index++) counts.add(counts.cell(String(index), 'b'), 2)
  const { samples } = counts.read()
  expect(samples).toHaveLength(101)
  expect(samples[99]).toEqual({ labels: { a: '99', b: 'b' }, value: 3 })
  expect(samples[100]).toEqual({ labels: { a: 'other', b: 'other' }, value: 600 })
})

test('durations fall into the bucket of their bound', () => {
  const durations = new Durations({})
  for (const ms of [0.002, 0.0021, 1, 6_000]) durations.observe(ms)
  const of = (le: string) => durations.samples().find(({ labels }) => labels.le === le)?.value
  expect([of('0.000002'), of('0.000005'), of('0.0005'), of('0.001'), of('5'), of('+Inf')]).toEqual([
    1, 2, 2, 3, 3, 4,
  ])
  expect(durations.samples().find(({ part }) => part === 'sum')?.value).toBeCloseTo(6.0010041)
})

test('the metrics of processes are added, or the largest counts', () => {
  const counter = (value: number): Metric => ({
    ...{ name: 'portcullis_x_total', help: 'x', type: 'counter', merge: 'sum' },
    samples: [{ labels: { a: '1' }, value }],
  })
  const age = (value: number) => gauge('portcullis_age', 'x', value, { merge: 'max' })
  const [counts, ages] = mergedMetrics([
    [counter(1), age(5)],
    [counter(2), age(3)],
  ])
  expect(counts?.samples).toEqual([{ labels: { a: '1' }, value: 3 }])
  expect(ages?.samples).toEqual([{ labels: {}, value: 5 }])
  expect(lastingMetrics([counter(1), age(5)])).toEqual([counter(1)])
})

test('deleted rows that are still there are a gauge, once a removal has counted them', () => {
  expect(deletedRows(undefined)).toEqual([])
  const [users, due] = [
    { users: 3, projects: 1 },
    { users: 0, projects: 7 },
  ]
  const [metric] = deletedRows({ unmarked: users, due, kept: users })
  const { names = [], labels } =
    documentedMetrics().find(({ names }) => names.includes(metric?.name ?? '')) ?? {}
  expect([names, labels]).toEqual([['portcullis_directory_deleted_rows'], ['table', 'state']])
  const values = metric?.samples.map(({ labels, value }) => [labels.state, labels.table, value])
  expect(values).toContainEqual(['unmarked', 'users', 3])
  expect(values).toContainEqual(['due', 'projects', 7])
  expect(values).toHaveLength(6)
})

test('workers count as one, and what a worker has counted stays when it ends', async () => {
  const pool = await serve(['--workers', '2', '--data', join(newFolder(), 'data')], {
    environment: { PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0' },
  })
  const clients = Array.from({ length: 6 }, () => connect(pool.ready.grpc))
  whenTheFileEnds(() => {
    for (const client of clients) client.close()
  })
  // Each connection is that of one worker, so that both answer.
  for (const client of clients) await client.check({ api: 'balance', token: CLAIMS })
  const counted = async () =>
    (await scrape(pool.ready.health)).series.get(
      'portcullis_decisions_total{protocol="grpc",api="balance",reason="ALLOWED"}',
    )
  const workers = async (state: string) =>
    (await scrape(pool.ready.health)).series.get(`portcullis_workers{state="${state}"}`)
  expect(await counted()).toBe(6)
  expect([await workers('configured'), await workers('serving')]).toEqual([2, 2])
  const [killed = 0] = workersOf(pool)
  process.kill(killed, 'SIGKILL')
  await eventually(async () => {
    expect(await counted()).toBe(6)
    return !workersOf(pool).includes(killed) && (await workers('serving')) === 2
  })
  expect(await counted()).toBe(6)
})
