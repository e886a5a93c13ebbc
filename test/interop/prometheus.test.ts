/**
 * A real Prometheus reads the metrics, in both formats, and evaluates the alerts and every query of the
 * dashboard.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { repository, run } from '../support/interop/command.ts'
import { unpacked } from '../support/interop/debian.ts'
import { obtained } from '../support/interop/obtain.ts'
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

interface Alert {
  readonly alert: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const ALERTS: readonly Alert[] = parse(readFileSync(RULES, 'utf8')).groups.flatMap(
  (group: { rules: Alert[] }) => group.rules,
)

/** A series, and its values in an environment where all is well and in one where it is not. */
type Recorded = readonly [series: string, well: string, ill: string]

interface AlertCase {
  readonly alert: string
  readonly series: readonly Recorded[]
  /** When it does not fire yet, and when it does, in minutes. */
  readonly quiet: number
  readonly fires: number
  /** Labels beside those of the environment; default: the instance. */
  readonly labels?: Readonly<Record<string, string>>
  readonly value?: string
}

const SIDECAR = 'instance="a",job="portcullis"'
const OF_SIDECAR = { instance: 'a', job: 'portcullis' }
const READY: Recorded = [`portcullis_ready{${SIDECAR}}`, '1x99', '1x99']

const CASES: readonly AlertCase[] = [
  { alert: 'PortcullisDown', series: [[`up{${SIDECAR}}`, '1x9', '1 0x9']], quiet: 2, fires: 4 },
  {
    // Its job has another name. Other targets that are down are not its business.
    alert: 'PortcullisDown',
    series: [
      ['up{instance="a",job="pods"}', '1x9', '1 0x9'],
      ['portcullis_ready{instance="a",job="pods"}', '1x9', '1 _x9'],
      ['up{instance="b",job="pods"}', '0x9', '0x9'],
    ],
    ...{ quiet: 2, fires: 4, labels: { instance: 'a', job: 'pods' } },
  },
  {
    alert: 'PortcullisNotReady',
    series: [[`portcullis_ready{${SIDECAR}}`, '1x9', '1 0x9']],
    ...{ quiet: 2, fires: 4 },
  },
  {
    // Where all is well, it is restarted.
    alert: 'PortcullisFlaps',
    series: [[`portcullis_ready{${SIDECAR}}`, '1x3 _ 0 1x9', '1 0 1 0 1 0 1 0x9']],
    ...{ quiet: 4, fires: 6 },
  },
  {
    alert: 'PortcullisChangesLost',
    series: [[`portcullis_problem{code="directory_changes_lost",${SIDECAR}}`, '0x20', '0 0 1 0x20']],
    ...{ quiet: 1, fires: 11, labels: { code: 'directory_changes_lost', ...OF_SIDECAR } },
  },
  {
    alert: 'PortcullisProblem',
    series: [[`portcullis_problem{code="matrix_refused",${SIDECAR}}`, '0x9', '0 1x9']],
    ...{ quiet: 5, fires: 7, labels: { code: 'matrix_refused', ...OF_SIDECAR } },
  },
  {
    alert: 'PortcullisMatrixDiffers',
    series: [
      ['portcullis_matrix_info{instance="a",job="portcullis",digest="x"}', '1x30', '1x30'],
      ['portcullis_matrix_info{instance="b",job="portcullis",digest="x"}', '1x30', '_x30'],
      ['portcullis_matrix_info{instance="b",job="portcullis",digest="y"}', '_x30', '1x30'],
    ],
    ...{ quiet: 14, fires: 16, labels: { job: 'portcullis' } },
  },
  {
    alert: 'PortcullisCertificateExpires',
    series: [
      [
        `portcullis_certificate_expiry_timestamp_seconds{listener="grpc",${SIDECAR}}`,
        `${8 * 86_400}x9`,
        `${7 * 86_400 + 200}x9`,
      ],
    ],
    ...{ quiet: 3, fires: 4, labels: { listener: 'grpc', ...OF_SIDECAR } },
  },
  {
    // The staged key may be older than the active one ever gets.
    alert: 'PortcullisSigningKeyOld',
    series: [
      [`portcullis_signing_key_age_seconds{state="active",${SIDECAR}}`, '0x99', `${180 * 86_400 + 1}x99`],
      [`portcullis_signing_key_age_seconds{state="staged",${SIDECAR}}`, '99999999x99', '0x99'],
    ],
    ...{ quiet: 59, fires: 61, labels: { state: 'active', ...OF_SIDECAR } },
  },
  {
    alert: 'PortcullisErrors',
    series: [
      [`portcullis_call_errors_total{reason="INTERNAL",${SIDECAR}}`, '0x20', '0+60x20'],
      [`portcullis_call_errors_total{reason="LOGIN_FAILED",${SIDECAR}}`, '0+60x20', '0x20'],
    ],
    ...{ quiet: 5, fires: 7, labels: { reason: 'INTERNAL', ...OF_SIDECAR } },
  },
  {
    alert: 'PortcullisFailedLogins',
    series: ['LOGIN_FAILED', 'TOO_MANY_FAILURES'].map((reason) => [
      `portcullis_attempts_total{message="a login failed",reason="${reason}",${SIDECAR}}`,
      ...(['0+20x20', '0+40x20'] as const),
    ]),
    ...{ quiet: 10, fires: 16, labels: { message: 'a login failed', ...OF_SIDECAR } },
  },
  {
    alert: 'PortcullisSlow',
    series: [
      [`portcullis_event_loop_delay_seconds_bucket{le="0.1",${SIDECAR}}`, '0+60x20', '0x20'],
      [`portcullis_event_loop_delay_seconds_bucket{le="0.2",${SIDECAR}}`, '0+60x20', '0+60x20'],
      [`portcullis_event_loop_delay_seconds_bucket{le="+Inf",${SIDECAR}}`, '0+60x20', '0+60x20'],
    ],
    ...{ quiet: 10, fires: 12 },
  },
  {
    alert: 'PortcullisChangesUnknown',
    series: [[`portcullis_directory_known_age_seconds{${SIDECAR}}`, '1x9', '1 30x9']],
    ...{ quiet: 2, fires: 4, value: '30' },
  },
  {
    // Where all is well, eight workers lose a connection once. The first look is at 0.
    alert: 'PortcullisForgetsEverything',
    series: [
      READY,
      [`portcullis_directory_touched_total{thing="everything",${SIDECAR}}`, '0 8x20', '0+1x20'],
      [`portcullis_workers{state="configured",${SIDECAR}}`, '8x20', '_x20'],
    ],
    ...{ quiet: 3, fires: 11 },
  },
  {
    // The bound counts losses in each worker.
    alert: 'PortcullisForgetsEverything',
    series: [
      READY,
      [`portcullis_directory_touched_total{thing="everything",${SIDECAR}}`, '0+1x20', '0+8x20'],
      [`portcullis_workers{state="configured",${SIDECAR}}`, '8x20', '8x20'],
    ],
    ...{ quiet: 3, fires: 11 },
  },
  ...['PortcullisDecisionsNotLogged', 'PortcullisDroppedLogLines'].map((alert, index): AlertCase => {
    const metric = ['portcullis_decision_log_lines_dropped_total', 'portcullis_log_lines_dropped_total'][
      index
    ]
    return { alert, series: [[`${metric}{${SIDECAR}}`, '5x9', '0 0 3x9']], quiet: 1, fires: 3 }
  }),
]

/** A test for promtool: two environments with the same addresses, of which one is ill. */
function alertTest({ alert, series, quiet, fires, labels = OF_SIDECAR, value = '' }: AlertCase): object {
  const rule = ALERTS.find((each) => each.alert === alert)
  const shown: Record<string, string> = { ...labels, environment: 'ill' }
  const annotations = Object.entries(rule?.annotations ?? {}).map(([name, text]) => [
    name,
    text.replace(/\{\{ \$(labels\.)?(\w+) \}\}/g, (_all, of, label) => (of ? (shown[label] ?? '') : value)),
  ])
  const expected = {
    exp_labels: { ...rule?.labels, ...shown },
    exp_annotations: Object.fromEntries(annotations),
  }
  return {
    interval: '1m',
    input_series: series.flatMap(([name, ...values]) =>
      ['well', 'ill'].map((environment, index) => ({
        series: name.replace('{', `{environment="${environment}",`),
        values: values[index],
      })),
    ),
    alert_rule_test: [
      { eval_time: `${quiet}m`, alertname: alert, exp_alerts: [] },
      { eval_time: `${fires}m`, alertname: alert, exp_alerts: [expected] },
    ],
  }
}

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

  test('each alert fires when it should, for the environment that is ill, and for no other', async () => {
    const file = join(newFolder(), 'alerts.yaml')
    const tests = CASES.map(alertTest)
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
    await promtool('test', 'rules', file)
    expect(new Set(CASES.map(({ alert }) => alert))).toEqual(new Set(ALERTS.map(({ alert }) => alert)))
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
        const found = await query(
          expr.replace(/\$(instance|job)/g, '.*').replaceAll('$__rate_interval', '1m'),
        )
        if (found.length === 0) empty.push(title)
      }
    // Of what this sidecar has none.
    expect(empty.toSorted()).toEqual([
      ...['Attempts', 'Calls of upstreams', 'Calls without an answer', 'Certificates expire in'],
      ...['Decisions without a line', 'Denials by API', 'Problems', 'Refused at a bound'],
      'Workers that serve',
    ])
  })
})
