import { $ } from "../dom.js";
import { session } from "../api.js";

// next is where the reader was going: an address of this console, nothing else.
function next() {
  const wish = new URLSearchParams(location.search).get("next") || "/";
  const url = new URL(wish, location.origin);
  return url.origin === location.origin && !url.pathname.startsWith("/signin") ? url.pathname + url.search : "/";
}

async function enter(body) {
  const problem = $("problem");
  problem.hidden = true;
  try {
    await session("POST", body);
    if (!(await session("GET")).signed_in) throw new Error("This browser did not keep the session: use https, or http://localhost in Chrome, Edge or Firefox.");
    location.replace(next());
  } catch (err) {
    problem.textContent = err.message;
    problem.hidden = false;
    $("token").focus();
  }
}

const code = new URLSearchParams(location.hash.slice(1)).get("link");
if (code) {
  history.replaceState(null, "", location.pathname + location.search);
  $("why").textContent = "Signing in with the link…";
  await enter({ link: code });
  $("why").textContent = "Use the admin token, or an API key.";
} else {
  session("GET").then((who) => who.signed_in && location.replace(next()), () => {});
}
if (!isSecureContext) {
  $("problem").textContent = "This page came over plain http from another machine: the session would not be kept. Put TLS in front of Weir.";
  $("problem").hidden = false;
}
$("signin").addEventListener("submit", (e) => {
  e.preventDefault();
  enter({ token: $("token").value.trim() });
});
