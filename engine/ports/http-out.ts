// Requests to addresses that users named. Whoever sends bytes there does it by this port alone (A5).
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
  /** The name has no address now. It is judged again before each connection. */
  | { readonly kind: 'unresolved' }

export interface HttpOut {
  /** Whether a request to this URL would be allowed now. */
  judge(url: string): Promise<Judgement>
  /** Never rejects. Redirects are not followed, and the answer's body is shown to nobody. */
  send(request: OutboundRequest): Promise<SendResult>
}
