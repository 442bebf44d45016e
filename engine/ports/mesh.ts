// Messages between the nodes of a cluster: questions to one node, and news to every node that listens. The mesh
// transports bytes; the runtime gives them a meaning.

export interface Mesh {
  /** This node's own address, which other nodes pass to `ask`. */
  readonly address: string
  /** Sets what answers the questions of other nodes, effective a moment later. Called once. A rejection reaches the asker
   *  as a `NODE_FAILED` fault that must not be retried. */
  serve(answer: (question: Uint8Array) => Promise<Uint8Array>): void
  /** Rejects with a retryable `NODE_UNREACHABLE` fault if no answer comes in time or the other node closes meanwhile; it
   *  is then unknown whether the question was carried out. After a retryable `NODE_ABSENT` or `OVERLOADED` fault it was
   *  not. */
  ask(address: string, question: Uint8Array, timeoutMs: number): Promise<Uint8Array>
  /** Sends news to every node that listens to this topic, including this one, at most once. News and questions of one
   *  sender arrive in the order sent. Throws if the news is larger than `LIMITS.meshMessageBytesMax`. A topic consists of
   *  words of letters, digits, `-` and `_`, separated by dots. */
  publish(topic: string, news: Uint8Array): void
  /** Returns a function that stops the listener, which must not throw. */
  subscribe(topic: string, listener: (news: Uint8Array) => void): () => void
  /** False while the other nodes cannot be reached. */
  isUp(): boolean
  /** Answers the questions already under way, within a time limit, and refuses new ones. */
  close(): Promise<void>
}
