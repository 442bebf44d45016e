// Requests to addresses that users configured. This port is the only way to send anything there (A5).
import type { SendResult } from '../domain/alert/delivery.ts'

export interface OutboundRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Judgement =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'forbidden'; readonly address: string }
  /** The name does not resolve at the moment. The address is judged again before each connection. */
  | { readonly kind: 'unresolved' }

export interface HttpOut {
  /** Whether a request to this URL would be allowed now. */
  judge(url: string): Promise<Judgement>
  /** Never rejects. Does not follow redirects, and does not reveal the body of the response to anyone. */
  send(request: OutboundRequest): Promise<SendResult>
}
