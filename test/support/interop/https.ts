/** A sidecar with https, and clients of HTTP/1.1, HTTP/2 and less that ask it. */
import { copyFileSync, readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { beforeAll, inject } from 'vitest'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { ACCOUNT, jsonIn } from '../identity/identity.ts'
import { TESTER } from '../sidecar/actor.ts'
import { type RunningSidecar, runSidecar, type SidecarOptions } from '../sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { type Certificate, makeAuthority, makeCertificate } from './certificates.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what arrived; every test says what it expects of it
  readonly json: any
}

export interface Question {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string
}

export type Ask = (address: string, question: Question) => Promise<Answer>

let authority: Certificate
export let server: Certificate
export let other: Certificate

/** Makes an authority that the clients trust, and two certificates of it, before the tests of a file. */
export function prepareHttps(): void {
  beforeAll(async () => {
    if (!inject('openssl').ok) return
    const folder = newFolder()
    authority = await makeAuthority(folder, 'authority')
    server = await makeCertificate(folder, 'server', authority)
    other = await makeCertificate(folder, 'other', authority)
  })
}

/** Files of a certificate, and what puts another one there. */
export function newCertificateFiles() {
  const folder = newFolder()
  const files = { certificate: join(folder, 'server.pem'), key: join(folder, 'server.key') }
  const use = (certificate: Certificate) => {
    copyFileSync(certificate.certificate, files.certificate)
    copyFileSync(certificate.key, files.key)
  }
  use(server)
  return { files, use }
}

/** A sidecar with https, and the files of its certificate. */
export async function runHttps({ flags, ...options }: SidecarOptions = {}) {
  const { files, use } = newCertificateFiles()
  const running = await runSidecar({
    ...options,
    flags: {
      'http.address': '127.0.0.1:0',
      'http.tls.certificate': files.certificate,
      'http.tls.key': files.key,
      ...flags,
    },
  })
  return { ...running, http: running.sidecar.httpAddress ?? '', files, use }
}

export const portOf = (address: string) => Number(address.split(':').at(-1))
export const trust = (): ConnectionOptions => ({ ca: readFileSync(authority.certificate) })

export const inHttp1: Ask = (address, { method = 'GET', path, headers = {}, body }) =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    requestHttps(
      `https://${address}`,
      { ...trust(), servername: '', method, path, headers: { ...length, ...headers }, agent: false },
      (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            ...{ text, json: jsonIn(text, response.headers['content-type']) },
          }),
        )
      },
    )
      .on('error', reject)
      .end(body)
  })

export function http2(address: string): ClientHttp2Session {
  const session = connectHttp2(`https://${address}`, trust())
  session.on('error', () => {})
  whenTheFileEnds(() => session.destroy())
  return session
}

export function askOn(session: ClientHttp2Session, { method = 'GET', path, headers = {}, body }: Question) {
  return new Promise<Answer>((resolve, reject) => {
    const stream = session.request({ ':method': method, ':path': path, ...headers })
    let text = ''
    let received: Readonly<Record<string, unknown>> = {}
    stream.on('response', (found) => {
      received = found
    })
    stream.on('data', (chunk) => {
      text += chunk
    })
    stream.on('error', reject)
    stream.on('close', () => {
      if (received[':status'] === undefined) reject(new Error(`closed with code ${stream.rstCode}`))
      else
        resolve({
          status: Number(received[':status']),
          headers: received,
          ...{ text, json: jsonIn(text, received['content-type']) },
        })
    })
    stream.end(body)
  })
}

export const inHttp2: Ask = async (address, question) => {
  const session = http2(address)
  try {
    return await askOn(session, question)
  } finally {
    session.destroy()
  }
}

/**
 * Sends bytes over TLS, and resolves with everything that the server sends until it closes the connection.
 */
export function exchange(address: string, sent: Buffer | string, alpn: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ ...trust(), host: '127.0.0.1', port: portOf(address), ALPNProtocols: [alpn] })
    whenTheFileEnds(() => void socket.destroy())
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
    socket.write(sent)
  })
}

/** Sends bytes without TLS. */
export function exchangePlain(address: string, sent: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectPlain(portOf(address), '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
    if (sent !== '') socket.write(sent)
  })
}

export const PROTOCOLS: [protocol: string, ask: Ask][] = [
  ['HTTP/1.1', inHttp1],
  ['HTTP/2', inHttp2],
]

/** An account and a service user, as every test of the identity endpoint has them. */
export async function passwordIn({ sidecar }: Pick<RunningSidecar, 'sidecar'>): Promise<string> {
  const { secrets } = await applyFile(sidecar.administration, TESTER, {
    accounts: [
      { account: ACCOUNT, service_users: [{ name: 'account', permissions: [{ scope: 'account' }] }] },
    ],
  })
  return secrets[0]?.value.reveal() ?? ''
}
