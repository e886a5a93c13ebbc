/** grpcurl as a client: a process for each call. */
import { spawn } from 'node:child_process'
import { HANGS_MS } from '../suite/resources.ts'
import type { Answer, Json, RunningClient } from './client.ts'
import { repository } from './command.ts'

/** @param program path of grpcurl */
export function startGrpcurl(program: string, address: string): RunningClient {
  return {
    ask: ({ call, requests, metadata = {}, deadline_ms = HANGS_MS, responses_max }) => {
      const service = call.startsWith('Health') ? `grpc.health.v1.${call}` : `portcullis.v1.${call}`
      const protos = ['portcullis', 'health', 'google_rpc'].flatMap((name) => [
        '-protoset',
        `proto/${name}.binpb`,
      ])
      const headers = Object.entries(metadata).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
      const flags = ['-plaintext', '-emit-defaults', '-format-error', '-max-time', String(deadline_ms / 1000)]
      const child = spawn(program, [...flags, ...protos, ...headers, '-d', '@', address, service], {
        cwd: repository,
      })
      child.stdin.on('error', () => {})
      child.stdin.end(requests.map((request) => JSON.stringify(request)).join('\n'))
      let printed = ''
      let complaint = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text
        // A call is left as a person would leave it.
        if (messagesIn(printed).length === responses_max) child.kill('SIGKILL')
      })
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        complaint += text
      })
      return new Promise<Answer>((resolve, reject) => {
        child.once('error', reject)
        child.once('close', (code) => {
          const responses = messagesIn(printed)
          if (code === 0 || responses.length === responses_max) return resolve({ responses })
          try {
            resolve({ responses, error: errorIn(complaint) })
          } catch {
            reject(new Error(`grpcurl ended with ${code}: ${complaint}`))
          }
        })
      })
    },
    stop: async () => {},
  }
}

/**
 * Messages are printed one after the other, each over many lines that begins and ends with a brace in the
 * first column.
 */
function messagesIn(printed: string): Json[] {
  return Array.from(printed.matchAll(/^\{(?:\}|[\s\S]*?\n\})$/gm), ([message]) => JSON.parse(message))
}

/** Codes by their numbers. */
const CODES =
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  )

function errorIn(complaint: string): NonNullable<Answer['error']> {
  const { code, message = '', details = [] } = JSON.parse(complaint.slice(complaint.indexOf('{')))
  return { code: CODES[code] ?? String(code), message, details: details.map(withProtoNames) }
}

/** grpcurl prints the names of JSON: `fieldViolations`. */
function withProtoNames({ fieldViolations, ...detail }: Json): Json {
  return fieldViolations === undefined ? detail : { ...detail, field_violations: fieldViolations }
}
