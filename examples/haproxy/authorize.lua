-- Asks Portcullis about a request, and answers it where it must not pass.
local url = "http://127.0.0.1:8180/authorize"
local secret = os.getenv("PORTCULLIS_PROXY_SECRET")

-- Identity headers of a client are dropped, however they are written.
local function is_ours(name)
  return name:gsub("_", "-"):find("^x%-portcullis") ~= nil
end

-- Some frameworks take the path from these, which would be another one than was asked about.
local paths = { ["x-original-url"] = true, ["x-rewrite-url"] = true }

-- The names by which proxies describe a request.
local description = {
  ["x-original-method"] = true, ["x-original-uri"] = true, ["x-original-url"] = true, ["x-forwarded-method"] = true,
  ["x-forwarded-uri"] = true, ["x-forwarded-host"] = true, ["x-forwarded-for"] = true,
}
-- They belong to the body, the connection or only to the application.
local own = {
  ["host"] = true, ["content-length"] = true, ["transfer-encoding"] = true, ["connection"] = true, ["expect"] = true,
  ["upgrade"] = true, ["cookie"] = true,
}

core.register_action("authorize", { "http-req" }, function(txn)
  local asked = {}
  for name, values in pairs(txn.http:req_get_headers()) do
    if is_ours(name) or paths[name] then
      txn.http:req_del_header(name)
    elseif not description[name] and not own[name] then
      local list = {}
      for index = 0, #values do list[index + 1] = values[index] end
      asked[name] = list
    end
  end
  asked["x-portcullis-proxy-secret"] = { secret }
  asked["x-original-method"] = { txn.sf:method() }
  asked["x-original-uri"] = { txn.sf:pathq() }
  asked["x-forwarded-host"] = { txn.sf:req_fhdr("host") }
  asked["x-forwarded-for"] = { txn.sf:src() }

  local answer = core.httpclient():get({ url = url, headers = asked, timeout = 5000 })
  if answer ~= nil and answer.status == 200 then
    for name, values in pairs(answer.headers) do
      if is_ours(name) then txn.http:req_set_header(name, values[0]) end
    end
    return
  end

  local known = answer ~= nil and (answer.status == 401 or answer.status == 403)
  local reply = txn:reply({ status = known and answer.status or 503, body = known and answer.body or "" })
  if known then
    for _, name in ipairs({ "content-type", "www-authenticate", "cache-control" }) do
      for index = 0, #(answer.headers[name] or {}) do
        local value = (answer.headers[name] or {})[index]
        if value ~= nil then reply:add_header(name, value) end
      end
    end
  end
  txn:done(reply)
end, 0)
