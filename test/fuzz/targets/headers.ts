/** Headers of requests: credentials, those that egress forwards, those of proxies. */
import { isIP } from 'node:net'
import { CredentialFinder } from '../../../engine/credentials.ts'
import { lowerCase } from '../../../engine/places.ts'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { forwardedText, readForwarded } from '../../../sidecar/base/forwarded-header.ts'
import { ipAddress } from '../../../sidecar/base/ip-address.ts'
import { formatTraceParent, traceParentOf } from '../../../sidecar/base/trace-context.ts'
import { STATUS } from '../../../sidecar/contract/call.ts'
import { readHeaders, returnedHeaders, strippedNames } from '../../../sidecar/egress/headers.ts'
import { clientAddress } from '../../../sidecar/proxies/client-address.ts'
import { readRouteSettings } from '../../../sidecar/proxies/policy.ts'
import { readProxiedRequest } from '../../../sidecar/proxies/proxied-request.ts'
import { formOf } from '../../../sidecar/transports/connect/form.ts'
import { statusFields, timeoutMs } from '../../../sidecar/transports/grpc-fields.ts'
import { fieldsIn, promised, reading, type Target } from '../target.ts'

const finder = new CredentialFinder([
  { header: 'X-Auth-Token' },
  { header: 'X-Token', prefix: 'pcst_' },
  { header: 'Authorization', scheme: 'Bearer' },
])
const STRIPPED = strippedNames(['X-Auth-Token', 'X-Token', 'Authorization'])

export const targets: readonly Target[] = [
  {
    name: 'credentials',
    seeds: [
      'X-Auth-Token:eyJ.eyJ.x',
      'x-token: pcst_x \nX-Auth-Token:a',
      'Authorization:Bearer  x\nHost:h',
      'x-auth-token:a,b\nx-token:',
    ],
    words: ['X-Auth-Token:', 'X-Token:', 'Authorization:', 'Bearer ', ',', '\n', ' ', '\t'],
    run: (bytes) => {
      const fields = fieldsIn(bytes)
      const found = finder.find(fields)
      // Their order, the case of their names and headers of other names make no difference.
      const other = finder.find(
        [...fields]
          .reverse()
          .map(([name, value]) => [name.replace(/[a-z]/g, (letter) => letter.toUpperCase()), value]),
      )
      promised(JSON.stringify(found) === JSON.stringify(other), 'neither order nor case makes a difference')
      const grouped = new Map<string, string[]>()
      for (const [name, value] of fields)
        grouped.set(lowerCase(name), [...(grouped.get(lowerCase(name)) ?? []), value])
      const joined = finder.find([...grouped].map(([name, values]) => [name, values.join(', ')]))
      promised(
        found.ok === joined.ok && (found.ok || joined.ok || found.reason === joined.reason),
        'headers that are joined are the same',
      )
      if (!found.ok) return
      promised(/^[\x21-\x7e]+$/.test(found.value), 'a token is visible ASCII')
      promised(
        fields.filter(([name]) => finder.names.find(name) !== undefined).length === 1,
        'there is one credential',
      )
    },
  },
  {
    name: 'egress-headers',
    seeds: [
      'Host:h\nConnection:close, X-A\nX-A:1\nX_Auth_Token:x',
      'Proxy-Authorization:Bearer x\nOrigin:o\nTE:trailers',
    ],
    words: ['Connection:', 'X_Auth_Token:', 'Cookie:', 'Transfer-Encoding:', 'Host:'],
    run: (bytes) => {
      const raw = fieldsIn(bytes).flat()
      const { forwarded, hosts } = readHeaders(raw, STRIPPED)
      const canonical = (name: string) => name.toLowerCase().replaceAll('_', '-')
      for (let at = 0; at < forwarded.length; at += 2)
        promised(
          !STRIPPED.has(canonical(forwarded[at] as string)),
          'no credential and no header of the connection goes on',
        )
      promised(
        hosts === fieldsIn(bytes).filter(([name]) => canonical(name) === 'host').length,
        'every host is counted',
      )
      const again = readHeaders(forwarded, STRIPPED)
      promised(JSON.stringify(again.forwarded) === JSON.stringify(forwarded), 'headers are forwarded again')
      const returned = returnedHeaders(raw).filter((_text, index) => index % 2 === 0)
      promised(
        !returned.map(canonical).some((name) => name === 'portcullis-reason' || name === 'connection'),
        'a target cannot speak for us',
      )
    },
  },
  {
    name: 'proxy-headers',
    seeds: [
      'X-Original-Method:GET\nX-Original-URL:http://h/x?y\nX-Forwarded-For:1.2.3.4, 10.0.0.1',
      'X-Forwarded-Method:GET\nX-Forwarded-Uri:/x\nX-Forwarded-Host:h\nX-Forwarded-For:::1',
      'X-Forwarded-For:"[::ffff:1.2.3.4]:80", 1.2.3.4:80',
      'api:iam\naccount:1\nproject:web\ntrusted_hops:2',
      'traceparent:00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    ],
    words: [
      'X-Original-Method:',
      'X-Original-URI:',
      'X-Original-URL:',
      'X-Forwarded-For:',
      'X-Forwarded-Host:',
      'credential_profile:',
      'http://',
    ],
    run: (bytes) => {
      const fields = fieldsIn(bytes).map(([name, value]): [string, string] => [name.toLowerCase(), value])
      const distinct: Record<string, string[]> = Object.create(null)
      for (const [name, value] of fields) distinct[name] = [...(distinct[name] ?? []), value]
      const request = reading(() => readProxiedRequest({ headersDistinct: distinct }), CallError)
      if (request !== undefined)
        promised(
          fields.some(([, value]) => value.includes(request.target)),
          'a target is a header’s',
        )
      reading(() => readRouteSettings(fields, 'context'), CallError)
      const list = fields.flatMap(([name, value]) => (name === 'x-forwarded-for' ? value.split(',') : []))
      for (const hops of [0, 1, 2, 16]) {
        const address = clientAddress('192.0.2.1', fields, hops)
        promised(address === undefined || isIP(address) !== 0, 'the address of a client is one')
        const expected = list.at(-hops)?.trim() ?? ''
        if (hops > 0)
          promised(
            address === (list.length >= hops ? ipAddress(expected) : undefined),
            'a claim of a client does not count',
          )
      }
      const parent = traceParentOf(distinct.traceparent ?? [])
      if (parent === undefined) return
      const written = formatTraceParent(parent)
      promised(
        JSON.stringify(traceParentOf([written])) === JSON.stringify(parent),
        'a trace that was written is read as the same',
      )
    },
  },
  {
    name: 'forwarded-calls',
    seeds: [
      'address=192.0.2.1&protocol=grpc&connection=a+1&vouched=true',
      'address=2001%3Adb8%3A%3A1&protocol=http&connection=a&vouched=false',
      'address=unix+socket&protocol=grpc&connection=b&vouched=true',
      '1',
    ],
    words: ['address=', 'unknown', 'protocol=', 'connection=', 'vouched=', '&', '%'],
    run: (bytes) => {
      const from = readForwarded([bytes.toString()])
      if (from === undefined) return
      const { address } = from
      const isPlace = address === 'unknown' || address === 'unix socket'
      promised(isPlace || ipAddress(address) === address, 'a place is one, and an address has one form')
      promised(
        JSON.stringify(readForwarded([forwardedText(from)])) === JSON.stringify(from),
        'a forwarded header is forwarded unchanged',
      )
      promised(/^[\x21-\x7e]*$/.test(forwardedText(from)), 'a forwarded text is a header')
      promised(readForwarded([bytes.toString(), '1']) === undefined, 'two say nothing')
    },
  },
  {
    name: 'call-heads',
    seeds: [
      'content-type:application/grpc-web-text\ngrpc-timeout:10m',
      'content-type:application/json; charset=UTF-8',
      'content-type:application/connect+json\norigin:o',
      'grpc-message:a%b \u00e9',
    ],
    words: [
      'content-type:',
      'application/x-www-form-urlencoded',
      'charset=utf-8',
      'grpc-timeout:',
      '99999999H',
      'n',
      'sec-fetch-site:',
      '\u202e',
      '%',
    ],
    run: (bytes) => {
      const headers = Object.fromEntries(fieldsIn(bytes).map(([name, value]) => [name.toLowerCase(), value]))
      const form = formOf(headers)
      if (form !== undefined)
        promised(form.enveloped || form.protocol === 'connect', 'gRPC-Web has envelopes')
      const timeout = timeoutMs(headers['grpc-timeout'] ?? '')
      promised(timeout === undefined || (Number.isFinite(timeout) && timeout >= 0), 'a timeout is a time')
      const message = bytes.toString()
      const fields = statusFields({ code: STATUS.INTERNAL, message })
      const [, written = ''] = fields.find(([name]) => name === 'grpc-message') ?? []
      promised(/^[\x21-\x7e]?(?:[\x20-\x7e]*[\x21-\x7e])?$/.test(written), 'a message is visible in a header')
      // The independent reader; a message that was cut may end within a character.
      const cut = Buffer.byteLength(message) > 2_048
      if (!cut) promised(decodeURIComponent(written) === message, 'a message is read as it was written')
    },
  },
]
