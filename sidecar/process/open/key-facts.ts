/**
 * The facts for operators about the keys and secrets of this sidecar: their states and ages. Loaded where the
 * control panel is on.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { KEY_AGE_MS_MAX } from '../../authority/keys.ts'
import type { AuthorityState } from '../../authority/open-authority.ts'
import { PEPPER_FILE } from '../../base/data-folder.ts'
import { type Certificates, certificatesIn, RENEWED_MS_BEFORE } from '../../base/net/certificates.ts'
import { administratorTokenFile } from '../../config/administrator-token.ts'
import type { Config } from '../../config/config.ts'
import type { CertificateView, KeysView } from '../../usecases/control-panel/facts.ts'
import type { OpenCertificates } from './open-certificates.ts'

export interface KnownKeys {
  readonly config: Pick<Config, 'data' | 'administrator_token'>
  readonly authority: () => Pick<AuthorityState, 'keys' | 'signs'>
  readonly certificates: Pick<OpenCertificates, 'grpc' | 'http'>
}

/** @param nowMs wall clock, in milliseconds since the epoch */
export function keysViewOf({ config, authority, certificates }: KnownKeys, nowMs: number): KeysView {
  const { keys, signs } = authority()
  const administratorMs = config.administrator_token
    ? writtenAtMs(administratorTokenFile(config.data))
    : undefined
  return {
    signing: keys.map(({ keyId, state, sinceMs }) => ({
      ...{ id: keyId, state, sinceMs },
      createdAtMs: state === 'staged' ? sinceMs : null,
      old: state === 'active' && nowMs - sinceMs > KEY_AGE_MS_MAX,
    })),
    signs,
    certificates: (['grpc', 'http'] as const).flatMap((listener) =>
      certificateViews(`${listener}.tls`, certificates[listener]?.current, nowMs),
    ),
    pepper: { writtenAtMs: writtenAtMs(join(config.data, PEPPER_FILE)) ?? null },
    administratorToken: administratorMs === undefined ? null : { writtenAtMs: administratorMs },
  }
}

/** Those in force, with the authorities of the clients' certificates: when these end, no client gets in. */
function certificateViews(at: string, inForce: Certificates | undefined, nowMs: number): CertificateView[] {
  const { certificate, clientCa } = inForce ?? {}
  const files = [
    { what: `${at}.certificate`, pem: certificate },
    { what: `${at}.client_ca`, pem: clientCa },
  ]
  return files.flatMap(({ what, pem }) =>
    (pem === undefined ? [] : certificatesIn(pem)).map(({ subject, subjectAltName, validToDate }) => {
      const endsAtMs = validToDate.getTime()
      return {
        what,
        // A certificate may have no name but the alternative ones.
        subject: subject ? subject.replaceAll('\n', ', ') : (subjectAltName ?? ''),
        endsAtMs,
        state: endsAtMs <= nowMs ? 'ended' : endsAtMs - nowMs < RENEWED_MS_BEFORE ? 'ends_soon' : 'valid',
      }
    }),
  )
}

function writtenAtMs(path: string): number | undefined {
  const ms = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  return ms === undefined ? undefined : Math.floor(ms)
}
