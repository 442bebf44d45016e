// Passwords for invitations: 20 letters that nobody confuses, about 115 bits.
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const LENGTH = 20

export function newPassword(): string {
  const letters: string[] = []
  // A remainder would favour the first letters, so greater bytes are thrown away.
  const most = 256 - (256 % LETTERS.length)
  while (letters.length < LENGTH)
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH)))
      if (byte < most && letters.length < LENGTH) letters.push(LETTERS[byte % LETTERS.length] ?? '')
  return letters.join('')
}
