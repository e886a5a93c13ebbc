/** Certificates for mutual TLS, made by openssl for one test run. */
import { writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { run } from './command.ts'

/** PEM files. */
export interface Certificate {
  readonly certificate: string
  readonly key: string
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const DAYS = ['-days', '2']

/** A certificate that signs others. */
export async function makeAuthority(folder: string, name: string): Promise<Certificate> {
  const made = filesOf(folder, name)
  const out = ['-keyout', made.key, '-out', made.certificate]
  await run('openssl', ['req', '-x509', ...NEW_KEY, ...DAYS, ...out, '-subj', `/CN=${name}`])
  return made
}

/**
 * A certificate for a server on this machine, or for a client, signed by an authority.
 *
 * @param names its subject alternative names: `DNS:worker.example`, `URI:…`; default: the addresses of this
 *   machine
 */
export async function makeCertificate(
  folder: string,
  name: string,
  authority: Certificate,
  names: readonly string[] = ownAddresses(),
): Promise<Certificate> {
  const made = filesOf(folder, name)
  const request = join(folder, `${name}.request.pem`)
  const extensions = join(folder, `${name}.extensions`)
  // A section for the names, so that a name may have a comma.
  const lines = names.map((text, index) => text.replace(':', `.${index} = `))
  const section = names.length > 0 ? ['subjectAltName = @names', '[names]', ...lines] : []
  writeFileSync(extensions, ['basicConstraints = CA:FALSE', ...section, ''].join('\n'))
  const out = ['-keyout', made.key, '-out', request]
  await run('openssl', ['req', '-new', ...NEW_KEY, ...out, '-subj', `/CN=${name}`])
  const signing = ['-CA', authority.certificate, '-CAkey', authority.key, '-CAcreateserial', ...DAYS]
  const files = ['-in', request, '-extfile', extensions, '-out', made.certificate]
  await run('openssl', ['x509', '-req', ...signing, ...files])
  return made
}

function ownAddresses(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return addresses.map(({ address }) => `IP:${address}`)
}

function filesOf(folder: string, name: string): Certificate {
  return { certificate: join(folder, `${name}.certificate.pem`), key: join(folder, `${name}.key.pem`) }
}
