// What nodes of a cluster send each other: questions to one node, and messages to every node that subscribes to their topic.
// The mesh transports bytes; the runtime gives them a meaning.

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
  /** Sends a message to every node that listens to this topic, including this one, at most once. Messages and questions of
   *  one sender arrive in the order sent. Throws if the message is larger than `LIMITS.meshMessageBytesMax`. A topic consists
   *  of words of letters, digits, `-` and `_`, separated by dots. */
  publish(topic: string, message: Uint8Array): void
  /** Returns a function that stops the listener, which must not throw. */
  subscribe(topic: string, listener: (message: Uint8Array) => void): () => void
  /** False while the other nodes cannot be reached. */
  isUp(): boolean
  /** Answers the questions already under way, within a time limit, and refuses new ones. */
  close(): Promise<void>
}
