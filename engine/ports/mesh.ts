// What the nodes of a cluster say to each other: questions to one of them, and news to whoever listens.
// Bytes in, bytes out; what they mean is the runtime's business.

export interface Mesh {
  /** This node's own: what `ask` of the others takes. */
  readonly address: string
  /** Answers what the others ask of this node, from a moment later on; called once. A rejection reaches the asker as a
   *  `NODE_FAILED` fault that is not to be retried. */
  serve(answer: (question: Uint8Array) => Promise<Uint8Array>): void
  /** Rejects with a retryable `NODE_UNREACHABLE` fault when no answer comes in time, or when its node closes
   *  over it: whether it was done is then not known. With a retryable `NODE_ABSENT` or `OVERLOADED` fault it was not. */
  ask(address: string, question: Uint8Array, timeoutMs: number): Promise<Uint8Array>
  /** Tells every node that listens to this topic, this one included, at most once. News and questions of one sender
   *  arrive in the order in which they were sent. Throws if the news is larger than `LIMITS.meshMessageBytesMax`. A topic
   *  is words of letters, digits, `-` and `_` with dots between them. */
  tell(topic: string, news: Uint8Array): void
  /** Returns what stops it. A listener must not throw. */
  hear(topic: string, listener: (news: Uint8Array) => void): () => void
  /** False while the others cannot be reached. */
  isUp(): boolean
  /** Questions under way are answered first, within a bound; new ones are not taken. */
  close(): Promise<void>
}
