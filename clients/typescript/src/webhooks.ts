/** The message of a webhook. */
export interface WebhookMessage {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/**
 * The message of a webhook, if the service has signed it; it throws otherwise.
 *
 * @param secret of the address, as the service showed it when it was registered.
 * @param headers of the request, with names in small letters.
 * @param body as it was received, not parsed.
 * @param tolerance seconds by which its time and the clock may differ.
 */
export async function verifyWebhook(
  secret: string,
  headers: Record<string, string | undefined>,
  body: string,
  tolerance = 300,
): Promise<WebhookMessage> {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signed = headers["webhook-signature"];
  if (id === undefined || timestamp === undefined || signed === undefined) {
    throw new Error("the headers webhook-id, webhook-timestamp and webhook-signature are needed");
  }
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= tolerance)) {
    throw new Error(`the message is of another time: more than ${tolerance} seconds from now`);
  }
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (one) => one.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const one of signed.split(" ").filter((one) => one.startsWith("v1,"))) {
    let digest: Uint8Array<ArrayBuffer>;
    try {
      digest = Uint8Array.from(atob(one.slice(3)), (letter) => letter.charCodeAt(0));
    } catch {
      continue;
    }
    if (await crypto.subtle.verify("HMAC", key, digest, content)) return JSON.parse(body) as WebhookMessage;
  }
  throw new Error("the signature does not fit the message and the secret");
}
