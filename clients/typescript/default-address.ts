/** Default address of a sidecar. */
export const DEFAULT_ADDRESS = '127.0.0.1:50051'
