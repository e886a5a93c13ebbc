/**
 * Field numbers of the messages that Envoy asks and is answered with, by message and by the JSON name of the
 * field. A test compares them with the descriptors.
 */

export const CHECK_REQUEST = { attributes: 1 } as const
export const ATTRIBUTE_CONTEXT = { source: 1, request: 4, contextExtensions: 10 } as const
export const PEER = { address: 1 } as const
export const ADDRESS = { socketAddress: 1 } as const
export const SOCKET_ADDRESS = { address: 2 } as const
export const REQUEST = { http: 2 } as const
export const HTTP_REQUEST = { method: 2, headers: 3, path: 4, host: 5, headerMap: 13 } as const
export const HEADER_MAP = { headers: 1 } as const
export const HEADER_VALUE = { key: 1, value: 2, rawValue: 3 } as const

export const CHECK_RESPONSE = {
  status: 1,
  deniedResponse: 2,
  okResponse: 3,
  dynamicMetadata: 4,
} as const
/** `google.rpc.Status`. */
export const STATUS = { code: 1, message: 2 } as const
export const DENIED_HTTP_RESPONSE = { status: 1, headers: 2, body: 3 } as const
export const OK_HTTP_RESPONSE = { headers: 2, headersToRemove: 5 } as const
export const HTTP_STATUS = { code: 1 } as const
export const HEADER_VALUE_OPTION = { header: 1, append: 2, appendAction: 3 } as const

/** An entry of a `map<string, string>`. */
export const CONTEXT_EXTENSIONS_ENTRY = { key: 1, value: 2 } as const
