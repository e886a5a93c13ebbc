/**
 * Reads what Envoy asks, field by field. It reads what a decision depends on and skips the rest, for example
 * the body, which a client can make as long as the proxy allows.
 */
import { invalidArgument } from '../../base/call-error.ts'
import { Fields } from '../fields.ts'
import { notAMessage } from '../handler.ts'
import {
  ADDRESS,
  ATTRIBUTE_CONTEXT,
  CHECK_REQUEST,
  CONTEXT_EXTENSIONS_ENTRY,
  HEADER_MAP,
  HEADER_VALUE,
  HTTP_REQUEST,
  PEER,
  REQUEST,
  SOCKET_ADDRESS,
} from './envoy-field-numbers.ts'
import type { HeaderFilter } from './header-filter.ts'

type Pair = readonly [name: string, value: string]

/** The question of Envoy about a request. */
export interface Asked {
  /** The settings of Envoy's operator for the route. */
  readonly context: Pair[]
  /**
   * The relevant headers of the request, of both fields that can carry them: a credential that is in both is
   * ambiguous. Names are in lower case. One character for each byte, because a credential is ASCII, and one
   * that is not must not become one.
   */
  readonly headers: Pair[]
  /** Address that Envoy got the request from; empty: it is not an IP address. */
  peer: string
  method: string
  host: string
  /** With the query. */
  path: string
}

interface Reading extends Asked {
  readonly filter: HeaderFilter
  headersRead: number
}

/** Most headers of a request. Each takes only two bytes, so millions of them would fit into a message. */
const HEADERS_MAX = 10_000

/** There are fewer names than this that mean something. */
const CONTEXT_MAX = 100

/** @throws CallError if the bytes are not such a message */
export function readAsked(bytes: Buffer, filter: HeaderFilter): Asked {
  const asked: Reading = {
    context: [],
    headers: [],
    peer: '',
    method: '',
    host: '',
    path: '',
    filter,
    headersRead: 0,
  }
  const fields = new Fields(bytes)
  try {
    while (fields.next())
      if (fields.number === CHECK_REQUEST.attributes) readAttributes(fields, asked)
      else fields.skip()
  } catch (error) {
    throw notAMessage(error)
  }
  return asked
}

// A message that is there twice is merged, as protobuf has it: headers and names add up, and none hides
// another.

function readAttributes(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next()) {
    const { number } = fields
    if (number === ATTRIBUTE_CONTEXT.request) readRequest(fields, reading)
    else if (number === ATTRIBUTE_CONTEXT.source) readPeer(fields, reading)
    else if (number === ATTRIBUTE_CONTEXT.contextExtensions) readContext(fields, reading)
    else fields.skip()
  }
  fields.leave(end)
}

function readPeer(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === PEER.address) readAddress(fields, reading)
    else fields.skip()
  fields.leave(end)
}

function readAddress(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === ADDRESS.socketAddress) readSocketAddress(fields, reading)
    else fields.skip()
  fields.leave(end)
}

function readSocketAddress(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === SOCKET_ADDRESS.address) reading.peer = fields.text()
    else fields.skip()
  fields.leave(end)
}

function readContext(fields: Fields, { context }: Reading): void {
  if (context.length === CONTEXT_MAX)
    throw invalidArgument({
      field: 'attributes.context_extensions',
      expected: `at most ${CONTEXT_MAX} names`,
    })
  let key = ''
  let value = ''
  const end = fields.enter()
  while (fields.next())
    if (fields.number === CONTEXT_EXTENSIONS_ENTRY.key) key = fields.text()
    else if (fields.number === CONTEXT_EXTENSIONS_ENTRY.value) value = fields.text()
    else fields.skip()
  fields.leave(end)
  context.push([key, value])
}

function readRequest(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === REQUEST.http) readHttp(fields, reading)
    else fields.skip()
  fields.leave(end)
}

function readHttp(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next()) {
    const { number } = fields
    // An entry of the map has the fields of a `HeaderValue`.
    if (number === HTTP_REQUEST.headers) readHeader(fields, reading)
    else if (number === HTTP_REQUEST.headerMap) readHeaderMap(fields, reading)
    else if (number === HTTP_REQUEST.method) reading.method = fields.characters()
    else if (number === HTTP_REQUEST.path) reading.path = fields.characters()
    else if (number === HTTP_REQUEST.host) reading.host = fields.characters()
    else fields.skip()
  }
  fields.leave(end)
}

function readHeaderMap(fields: Fields, reading: Reading): void {
  const end = fields.enter()
  while (fields.next())
    if (fields.number === HEADER_MAP.headers) readHeader(fields, reading)
    else fields.skip()
  fields.leave(end)
}

function readHeader(fields: Fields, reading: Reading): void {
  const { filter } = reading
  if (++reading.headersRead > HEADERS_MAX)
    throw invalidArgument({
      field: 'attributes.request.http.headers',
      expected: `at most ${HEADERS_MAX} headers`,
    })
  let key = ''
  let value = ''
  let rawValue = ''
  const end = fields.enter()
  while (fields.next()) {
    const { number } = fields
    if (number === HEADER_VALUE.key) {
      // Every header of every request is asked about, so the cheap question comes first.
      const maybe = filter.mayBeRelevant(fields.lengthAhead(), fields.byteAhead(2))
      // Survives: `maybe` → `true`. It only spares to read a name that is not looked at.
      if (maybe) key = fields.characters()
      if (!maybe || !filter.isRelevant(key)) {
        fields.abandon(end)
        return
      }
    } else if (number === HEADER_VALUE.value) value = fields.characters()
    else if (number === HEADER_VALUE.rawValue) rawValue = fields.characters()
    else fields.skip()
  }
  fields.leave(end)
  const name = key.toLowerCase()
  reading.headers.push([name, rawValue === '' ? value : rawValue])
  if (value !== '' && rawValue !== '') reading.headers.push([name, value])
}
