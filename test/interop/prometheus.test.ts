/**
 * A real Prometheus reads the metrics, in both formats, and evaluates the alerts and every query of the
 * dashboard.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { repository, run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'
import { unpacked } from '../support/interop/shells.ts'
import { startProcess } from '../support/processes/processes.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

const RULES = join(repository, 'deploy/prometheus/portcullis.rules.yaml')
const DASHBOARD = join(repository, 'deploy/grafana/portcullis.json')

const installed = await obtained('prometheus', async () => {
  const folder = join(await unpacked('prometheus', ['prometheus']), 'usr/bin')
  await run(join(folder, 'promtool'), ['--version'])
  return folder
})
const folder = installed.ok ? installed.value : ''
const promtool = (...args: string[]) => run(join(folder, 'promtool'), args)

/** What each alert says about made-up series. */
const ALERTS = `
rule_files: [${RULES}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'portcullis_ready{instance="a"}', values: '1 0x10' }
      - { series: 'portcullis_ready{instance="b"}', values: '1x11' }
      - { series: 'portcullis_matrix_info{instance="a",digest="x"}', values: '1x30' }
      - { series: 'portcullis_matrix_info{instance="b",digest="y"}', values: '1x30' }
    alert_rule_test:
      - { eval_time: 2m, alertname: PortcullisNotReady, exp_alerts: [] }
      - eval_time: 5m
        alertname: PortcullisNotReady
        exp_alerts:
          - exp_labels: { severity: critical, instance: a }
            exp_annotations:
              summary: a is not ready
              description: /readyz?verbose of the health listener says which check fails.
      - { eval_time: 5m, alertname: PortcullisMatrixDiffers, exp_alerts: [] }
      - eval_time: 20m
        alertname: PortcullisMatrixDiffers
        exp_alerts:
          - exp_labels: { severity: warning }
            exp_annotations:
              summary: Sidecars decide by different matrices
              description: A new matrix has not reached all of them. portcullis_matrix_info names the digest of each.
`

describe.skipIf(!installed.ok)('with Prometheus', async () => {
  const { sidecar, client } = await runSidecar({ flags: { 'health.address': '127.0.0.1:0' } })
  const target = sidecar.healthAddress ?? ''
  let prometheus = ''
  beforeAll(async () => {
    await client.check({ api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } })
    const data = newFolder()
    const config = join(data, 'prometheus.yaml')
    const scrape = `{ job_name: portcullis, static_configs: [{ targets: ["${target}"] }] }`
    writeFileSync(
      config,
      `global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: [${RULES}]\nscrape_configs: [${scrape}]\n`,
    )
    await promtool('check', 'config', config)
    const port = 20_000 + (process.pid % 20_000)
    prometheus = `http://127.0.0.1:${port}`
    startProcess([
      join(folder, 'prometheus'),
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(data, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ])
    await eventually(async () => (await query('portcullis_ready').catch(() => [])).length === 1)
  })
  const get = async (path: string) => {
    const answer = (await (await fetch(`${prometheus}${path}`)).json()) as { status: string; data: never }
    expect(answer).toMatchObject({ status: 'success' })
    return answer.data
  }
  const query = async (expression: string): Promise<{ value: [number, string] }[]> =>
    ((await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)) as { result: never }).result

  test('the text is as promtool wants it', async () => {
    const file = join(newFolder(), 'metrics')
    writeFileSync(file, await (await fetch(`http://${target}/metrics`)).text())
    await run('bash', ['-c', `'${join(folder, 'promtool')}' check metrics < '${file}'`])
  })

  test('every series arrives with its value', async () => {
    const [found] = await query('portcullis_decisions_total{protocol="grpc",api="balance",reason="ALLOWED"}')
    expect(found?.value[1]).toBe('1')
    expect(await query('portcullis_check_duration_seconds_bucket{le="+Inf",protocol="grpc"}')).toHaveLength(1)
  })

  test('the rules are valid, and each can be evaluated', async () => {
    await promtool('check', 'rules', RULES)
    const rules = await eventually(async () => {
      const { groups } = (await get('/api/v1/rules')) as { groups: { rules: { health: string }[] }[] }
      const found = groups.flatMap((group) => group.rules)
      return found.every(({ health }) => health !== 'unknown') && found
    })
    expect(rules.length).toBeGreaterThan(5)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
  })

  test('alerts begin when they should', async () => {
    const file = join(newFolder(), 'alerts.yaml')
    writeFileSync(file, ALERTS)
    await promtool('test', 'rules', file)
  })

  test('every query of the dashboard can be evaluated', async () => {
    // A rate needs two answers.
    await eventually(async () => (await query('rate(portcullis_process_cpu_seconds_total[1m])')).length > 0)
    const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
      panels: { title: string; targets: { expr: string }[] }[]
    }
    const empty: string[] = []
    for (const { title, targets } of panels)
      for (const { expr } of targets) {
        const found = await query(expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'))
        if (found.length === 0) empty.push(title)
      }
    // Of what this sidecar has none.
    expect(empty.toSorted()).toEqual([
      ...['Attempts', 'Calls of upstreams', 'Calls without an answer', 'Certificates expire in'],
      ...['Denials by API', 'Problems', 'Refused at a bound', 'Workers that serve'],
    ])
  })
})
