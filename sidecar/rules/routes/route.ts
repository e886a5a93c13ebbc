/** A route: as the configuration has it, as it is compiled, and its result for a request. */
import type { HostPattern, PathPattern } from './pattern.ts'

/** Where a part of the target is found. Exactly one of the keys is given. */
export interface TargetSetting {
  /** Name of a segment of the path: `account` for `{account}`. */
  readonly segment?: string
  /** Name of a request header. */
  readonly header?: string
  /** The text itself. */
  readonly fixed?: string
}

/** A route as the configuration has it. */
export interface RouteSetting {
  /** `api.example.com`, or `*.example.com`. Default: any host. */
  readonly host?: string
  /** `/billing/` and all below it, `/billing/items` alone, or a template: `/v2/{account}/servers/`. */
  readonly path: string
  /** Default: any method. */
  readonly methods?: readonly string[]
  /** Id of the API. */
  readonly api: string
  /** Where the account of the resource is found, and its project if any. Default: only the matrix decides. */
  readonly target?: { readonly account: TargetSetting; readonly project?: TargetSetting }
}

/** Where a part of the target is found, checked. */
export type TargetSource =
  | { readonly from: 'segment'; readonly name: string; readonly index: number; readonly prefix: string }
  | { readonly from: 'header'; readonly name: string }
  | { readonly from: 'fixed'; readonly value: string }

/** A route, checked. */
export interface Route {
  /** Its place in the configuration, from 0. */
  readonly index: number
  readonly api: string
  readonly host: HostPattern
  readonly path: PathPattern
  /** Sorted; `undefined`: any. GET brings HEAD with it. */
  readonly methods: readonly string[] | undefined
  /** Whether the configuration names HEAD: not every server answers it as it answers GET. */
  readonly namesHead: boolean
  readonly target: { readonly account: TargetSource; readonly project: TargetSource | undefined } | undefined
}

/** A request, as it arrived. It was neither decoded, merged nor corrected. */
export interface RouteRequest {
  readonly method: string
  /** The Host header or `:authority`, where there is one. */
  readonly host: string | undefined
  /** The request target: path and query. */
  readonly target: string
  /** The values of a header. @param name in lower case */
  readonly header: (name: string) => string | readonly string[] | undefined
}

/** Why a request has no API. Every one of them is a denial. */
export type RouteRefusal =
  /** Servers could read the request in different ways. */
  | 'NOT_CANONICAL'
  | 'NO_ROUTE'
  /** The request does not name the account or the project of the resource where the route looks for it. */
  | 'TARGET_NOT_FOUND'

/** The owner of the resource. */
export interface RouteTarget {
  readonly account: string
  readonly project?: string
}

/** The API of a request, or why there is none. */
export type RouteMatch =
  | {
      readonly refused: undefined
      readonly api: string
      readonly target: RouteTarget | undefined
      readonly route: Route
    }
  | {
      readonly refused: RouteRefusal
      /** The expected form. Never contains a value of the request. */
      readonly detail: string
      /** The route whose target was not found. */
      readonly route?: Route
    }
