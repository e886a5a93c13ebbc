/** h2spec: test cases for HTTP/2 and HPACK, against a server that is running. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How long h2spec waits for a reaction of the server, in seconds. A case that passes takes milliseconds. */
const WAIT_SECONDS = 2

/** The outcome of a test case. */
export interface SpecOutcome {
  /** The part of the specification and the title: `http2/5.1.2 Sends …`. */
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** The answer that h2spec expected, and the one that it saw. */
  readonly saw: string
}

/**
 * Runs cases, the strict ones too.
 *
 * @param address of a server without TLS
 * @param path of the resource that is asked for
 * @param parts of the specifications; none: all
 */
export async function runH2spec(
  program: string,
  address: string,
  path: string,
  parts: readonly string[] = [],
): Promise<SpecOutcome[]> {
  const [host = '', port = ''] = address.split(':')
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-h2spec-'))
  const report = join(folder, 'report.xml')
  const args = [
    ...parts,
    ...['-h', host, '-p', port, '-P', path, '-S'],
    ...['-o', String(WAIT_SECONDS), '-j', report],
  ]
  try {
    // It ends with 1 where a case fails. The report says which one.
    await new Promise<void>((resolve) => execFile(program, args, () => resolve()))
    return [...outcomesIn(readFileSync(report, 'utf8'))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function* outcomesIn(report: string): Generator<SpecOutcome> {
  const cases = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g
  for (const [, part, title, body = ''] of report.matchAll(cases))
    yield {
      name: text(`${part} ${title}`),
      outcome: body.includes('<skipped>') ? 'skipped' : /<(error|failure)>/.test(body) ? 'failed' : 'passed',
      saw: text(body.replaceAll(/<[^>]*>/g, ' ').trim()),
    }
}

function text(xml: string): string {
  return xml
    .replaceAll(/&#(x?)([0-9a-fA-F]+);/g, (_, hex, digits) =>
      String.fromCodePoint(Number.parseInt(digits, hex ? 16 : 10)),
    )
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
