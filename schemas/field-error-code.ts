// What `errors[].code` of a refusal is called, on REST and on /ws, for each keyword of JSON schema.

const CODES: Readonly<Record<string, string>> = {
  required: 'REQUIRED',
  type: 'WRONG_TYPE',
  enum: 'NOT_ALLOWED',
  const: 'NOT_ALLOWED',
  minimum: 'OUT_OF_RANGE',
  maximum: 'OUT_OF_RANGE',
  minLength: 'TOO_SHORT',
  maxLength: 'TOO_LONG',
  pattern: 'WRONG_FORMAT',
  format: 'WRONG_FORMAT',
  minItems: 'TOO_FEW',
  maxItems: 'TOO_MANY',
  uniqueItems: 'DUPLICATE',
}

/** The code of a field that breaks this keyword of its schema. */
export function fieldErrorCode(keyword: string): string {
  return CODES[keyword] ?? 'NOT_VALID'
}
